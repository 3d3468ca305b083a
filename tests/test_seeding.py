from app.seeding import derive


def test_equal_parts_give_equal_seeds_on_any_machine() -> None:
    assert derive(1, "actor", 2) == derive(1, "actor", 2) == 2953231170073882480


def test_any_other_part_gives_another_seed() -> None:
    seeds = {derive(seed, rank, update) for seed in range(5) for rank in range(5) for update in range(200)}
    assert len(seeds) == 5000
    assert derive(1, 2, 3) != derive(12, 3) != derive(1, 23)


def test_seeds_fit_what_generators_take() -> None:
    assert all(0 <= derive(seed) < 2**63 for seed in range(1000))
