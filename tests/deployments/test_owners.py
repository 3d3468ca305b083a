from deployments.owners import Owners


def test_the_last_place_where_a_game_was_found_is_remembered_until_it_is_forgotten() -> None:
    owners = Owners()
    owners.remember("game", "one")
    owners.remember("game", "two")
    assert owners.get("game") == "two"
    owners.forget("game")
    owners.forget("game")
    assert owners.get("game") is None


def test_beyond_the_bound_the_game_that_was_found_first_is_forgotten() -> None:
    owners = Owners(2)
    for game in ("a", "b", "c"):
        owners.remember(game, "one")
    assert [owners.get(game) for game in ("a", "b", "c")] == [None, "one", "one"]


def test_a_game_without_a_name_has_no_owner() -> None:
    owners = Owners()
    owners.remember("", "one")
    assert owners.get("") is None
