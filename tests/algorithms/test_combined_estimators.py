import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from app.algorithms.combined_estimators import OwnValueTargets, Upgoing
from app.algorithms.estimators import Gae, VTrace
from app.algorithms.vtrace import Clips
from app.types import RowKind
from tests.algorithms.test_estimators import played, trajectories

TERMINATED, TRUNCATED = RowKind.TERMINATED, RowKind.TRUNCATED
Given = list[tuple[list[tuple[float, float, float]], RowKind, float]]


def test_a_value_has_a_lambda_of_its_own() -> None:
    rows = played(([(1.0, 2.0, 0.0), (3.0, 4.0, 0.0)], TERMINATED, 9.0))
    found = OwnValueTargets(Gae(0.5, 0.0), 0.5, 1.0)(rows)
    assert found.target_value.tolist() == [2.5, 3.0, 0.0]  # 1 + 3 / 2: all rewards.
    assert found.advantage.tolist() == [1.0, -1.0, 0.0]  # 1 + 4 / 2 - 2: one reward.


def test_with_the_lambda_of_the_advantages_nothing_changes() -> None:
    rows = played(([(1.0, 2.0, 0.0), (3.0, 4.0, 0.0), (-1.0, 0.5, 0.0)], TRUNCATED, 9.0))
    plain, own = Gae(0.9, 0.7)(rows), OwnValueTargets(Gae(0.9, 0.7), 0.9, 0.7)(rows)
    torch.testing.assert_close(own.target_value, plain.target_value)
    torch.testing.assert_close(own.advantage, plain.advantage)


def test_upgoing_advantages_follow_what_went_well() -> None:
    """The second step earned 3 where 1 was expected, so the first follows it: 0 + (3 + 0 / 2) / 2 - 1."""
    well = played(([(0.0, 1.0, 0.0), (3.0, 1.0, 0.0)], TERMINATED, 9.0))
    found = Upgoing(Gae(0.5, 0.0), 0.5, 2.0)(well)
    assert found.advantage.tolist() == [-0.5 + 2 * 0.5, 2.0 + 2 * 2.0, 0.0]
    badly = played(([(0.0, 1.0, 0.0), (-3.0, 1.0, 0.0)], TERMINATED, 9.0))
    found = Upgoing(Gae(0.5, 0.0), 0.5, 2.0)(badly)
    assert found.advantage.tolist() == [-0.5 + 2 * -0.5, -4.0 + 2 * -4.0, 0.0]  # 0 + 1 / 2 - 1: the value instead.
    assert found.target_value.tolist() == Gae(0.5, 0.0)(badly).target_value.tolist()


@pytest.mark.parametrize(("log_ratio", "weight"), [(0.0, 1.0), (-1.0, 0.36787944), (2.0, 1.0)])
def test_upgoing_advantages_weigh_as_much_as_the_present_policy_would_have_acted_so(
    log_ratio: float, weight: float
) -> None:
    rows = played(([(3.0, 1.0, log_ratio)], TERMINATED, 9.0))
    inner = VTrace(0.5, 1.0, Clips())
    more = Upgoing(inner, 0.5, 1.0)(rows).advantage - inner(rows).advantage
    assert more.tolist() == pytest.approx([2.0 * weight, 0.0])


@given(trajectories, st.sampled_from([Gae(0.9, 0.8), VTrace(0.9, 0.8, Clips())]))
def test_a_batch_is_its_trajectories_one_by_one(given_: Given, inner: Gae | VTrace) -> None:
    estimator = OwnValueTargets(Upgoing(inner, 0.9, 0.5), 0.9, 0.4)
    whole = estimator(played(*given_))
    parts = [estimator(played(one)) for one in given_]
    torch.testing.assert_close(whole.advantage, torch.cat([part.advantage for part in parts]))
    torch.testing.assert_close(whole.target_value, torch.cat([part.target_value for part in parts]))


def test_what_is_combined_wants_what_its_parts_want() -> None:
    assert not OwnValueTargets(Upgoing(Gae(0.9, 0.8), 0.9, 0.5), 0.9, 0.4).wants_log_ratio
    assert OwnValueTargets(Upgoing(VTrace(0.9, 0.8, Clips()), 0.9, 0.5), 0.9, 0.4).wants_log_ratio
