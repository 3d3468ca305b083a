import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from app.algorithms.time_major import check_shapes, discounted_sums, goes_on, next_rows


def column(*numbers: float) -> torch.Tensor:
    return torch.tensor(numbers)[:, None]


def test_discounted_sums_by_hand() -> None:
    assert discounted_sums(column(1.0, 2.0, 4.0), column(0.5, 0.25, 9.0))[:, 0].tolist() == [2.5, 3.0, 4.0]


@given(st.integers(0, 2**32), st.integers(1, 6), st.integers(1, 3))
def test_columns_are_summed_each_on_its_own(seed: int, steps: int, columns: int) -> None:
    draw = torch.Generator().manual_seed(seed)
    x, decay = (torch.rand(steps, columns, generator=draw, dtype=torch.float64) for _ in range(2))
    together = discounted_sums(x, decay)
    for at in range(columns):
        alone = discounted_sums(x[:, at : at + 1], decay[:, at : at + 1])
        torch.testing.assert_close(together[:, at : at + 1], alone)
        total = 0.0
        for t in reversed(range(steps)):
            total = float(x[t, at]) + float(decay[t, at]) * total
            assert float(together[t, at]) == pytest.approx(total)


def test_behind_the_last_row_is_nothing() -> None:
    assert next_rows(column(1, 2))[:, 0].tolist() == [2.0, 0.0]
    assert goes_on(column(0, 1, 0))[:, 0].tolist() == [1.0, 0.0, 0.0]


def test_arrays_of_other_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match=r"sums needs one shape \[T, B\], got \[\(2, 1\), \(3, 1\)\]"):
        check_shapes("sums", column(1, 2), column(1, 2, 3))
    with pytest.raises(ValueError, match=r"got \[\(2,\)\]"):
        check_shapes("sums", torch.zeros(2))
