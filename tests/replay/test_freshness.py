import math

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from app.replay.freshness import Freshness, freshness
from app.types import Version


def batch_of(rows: list[tuple[float, int, int]]) -> dict[str, Tensor]:
    """Returns a batch of rows (weight, generation, version)."""
    return {
        "weight": torch.tensor([weight for weight, _, _ in rows], dtype=torch.float32),
        "generation": torch.tensor([generation for _, generation, _ in rows], dtype=torch.int32),
        "version": torch.tensor([version for _, _, version in rows], dtype=torch.int32),
    }


def measured(rows: list[tuple[float, int, int]], max_lag: int | None = 3) -> Freshness:
    return freshness(batch_of(rows), Version(2, 10), max_lag)


def test_rows_within_the_lag_keep_their_weight() -> None:
    fresh = measured([(1, 2, 10), (1, 2, 7), (1, 2, 6)])
    assert fresh.weight.tolist() == [1, 1, 0]
    assert fresh.weight.dtype == torch.float32
    assert (fresh.rows, fresh.rows_too_old, fresh.rows_other_generation) == (2, 1, 0)
    assert (fresh.lag_mean, fresh.lag_max) == (1.5, 3.0)


def test_rows_of_another_generation_do_not_count_however_new() -> None:
    fresh = measured([(1, 1, 10), (1, 3, 10), (1, 2, 9)])
    assert fresh.weight.tolist() == [0, 0, 1]
    assert (fresh.rows, fresh.rows_too_old, fresh.rows_other_generation) == (1, 0, 2)
    assert fresh.lag_max == 1


def test_bootstrap_rows_are_in_no_figure() -> None:
    fresh = measured([(0, 2, 1), (0, 1, 1), (0, 2, 10)])
    assert fresh.weight.tolist() == [0, 0, 0]
    assert (fresh.rows, fresh.rows_too_old, fresh.rows_other_generation) == (0, 0, 0)


def test_the_lag_of_no_row_is_left_out_of_the_metrics() -> None:
    fresh = measured([(1, 2, 1)])
    assert math.isnan(fresh.lag_mean)
    assert fresh.metrics() == {"rows": 0.0, "rows_too_old": 1.0, "rows_other_generation": 0.0}


def test_metrics_carry_all_figures() -> None:
    assert measured([(1, 2, 9), (1, 2, 1), (1, 1, 1), (1, 2, 10)]).metrics() == {
        "rows": 2.0,
        "rows_too_old": 1.0,
        "rows_other_generation": 1.0,
        "lag_mean": 0.5,
        "lag_max": 1.0,
    }


@given(
    st.lists(st.tuples(st.sampled_from([0.0, 1.0]), st.integers(1, 3), st.integers(0, 12)), max_size=20),
    st.integers(0, 5),
)
def test_every_step_is_learned_from_or_counted_as_dropped(rows: list[tuple[float, int, int]], max_lag: int) -> None:
    fresh = measured(rows, max_lag)
    expected = [weight if generation == 2 and 10 - version <= max_lag else 0.0 for weight, generation, version in rows]
    assert fresh.weight.tolist() == expected
    assert fresh.rows == sum(expected)
    assert fresh.rows + fresh.rows_too_old + fresh.rows_other_generation == sum(weight for weight, _, _ in rows)


def test_rows_of_any_policy_count_where_there_is_no_bound() -> None:
    fresh = measured([(1.0, 0, 0), (0.0, 0, 0), (0.5, 1, 99)], max_lag=None)
    assert fresh.weight.tolist() == [1.0, 0.0, 0.5]
    assert fresh.metrics() == {"rows": 2.0, "rows_too_old": 0.0, "rows_other_generation": 0.0}
