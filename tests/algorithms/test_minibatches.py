import torch
from hypothesis import given
from hypothesis import strategies as st

from app.algorithms.minibatches import minibatches


def shuffle(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_parts_of_five_rows_that_count_by_hand() -> None:
    batch = {"weight": torch.tensor([1.0, 0.0, 0.5, 1.0, 1.0, 0.0, 2.0])}
    parts = list(minibatches(batch, 2, shuffle(), lambda x: x))
    assert [part.size for part in parts] == [3.0, 2.0]
    assert sorted(torch.cat([part.rows for part in parts]).tolist()) == [0, 2, 3, 4, 6]


@given(st.lists(st.sampled_from([0.0, 0.5, 1.0]), max_size=12), st.integers(1, 5), st.integers(0, 100))
def test_each_row_that_counts_is_in_one_part_and_no_part_is_empty(weights: list[float], count: int, seed: int) -> None:
    batch = {"weight": torch.tensor(weights)}
    parts = list(minibatches(batch, count, shuffle(seed), lambda x: x))
    rows = [row for part in parts for row in part.rows.tolist()]
    assert sorted(rows) == [at for at, weight in enumerate(weights) if weight > 0]
    assert len(parts) == min(count, len(rows))
    assert all(part.size == len(part.rows) > 0 for part in parts)
    again = list(minibatches(batch, count, shuffle(seed), lambda x: x))
    assert [part.rows.tolist() for part in again] == [part.rows.tolist() for part in parts]


def test_where_another_worker_has_rows_a_part_without_any_is_taken_too() -> None:
    """The sizes are those of both; this worker has nothing in the second part, and nobody in the third."""
    parts = list(minibatches({"weight": torch.ones(1)}, 3, shuffle(), lambda x: x + torch.tensor([2.0, 3.0, 0.0])))
    assert [(part.rows.tolist(), part.size) for part in parts] == [([0], 3.0), ([], 3.0)]
