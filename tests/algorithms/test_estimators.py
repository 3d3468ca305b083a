import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from app.algorithms.estimators import Estimator, Gae, Played, VTrace
from app.algorithms.vtrace import Clips
from app.types import RowKind
from tests.algorithms.batches import drawn
from tests.algorithms.test_vtrace import by_definition

STEP, FULL, TERMINATED, TRUNCATED, LOST = RowKind
EVERY: list[Estimator] = [Gae(0.9, 0.8), VTrace(0.9, 0.8, Clips())]


def played(*trajectories: tuple[list[tuple[float, float, float]], RowKind, float]) -> Played:
    """Returns rows of trajectories: (reward, value, log-ratio) of each step, how it ended, and the value reached."""
    rows: list[tuple[float, int, float, float]] = []
    for steps, kind, reached in trajectories:
        rows += [(reward, STEP, value, log_ratio) for reward, value, log_ratio in steps]
        rows.append((123.0, kind, reached, 4.0))  # Reward and ratio of a bootstrap row mean nothing.
    reward, kinds, value, log_ratio = zip(*rows, strict=True)
    return Played(
        torch.tensor(reward), torch.tensor(kinds, dtype=torch.int8), torch.tensor(value), torch.tensor(log_ratio)
    )


steps = st.lists(st.tuples(*[st.floats(-2, 2, width=32)] * 3), min_size=1, max_size=5)
trajectories = st.lists(
    st.tuples(steps, st.sampled_from([FULL, TERMINATED, TRUNCATED, LOST]), st.floats(-2, 2, width=32)),
    min_size=1,
    max_size=4,
)


@given(trajectories, st.sampled_from(EVERY))
def test_a_batch_is_its_trajectories_one_by_one(
    given_: list[tuple[list[tuple[float, float, float]], RowKind, float]], estimator: Estimator
) -> None:
    whole = estimator(played(*given_))
    parts = [estimator(played(one)) for one in given_]
    torch.testing.assert_close(whole.advantage, torch.cat([part.advantage for part in parts]))
    torch.testing.assert_close(whole.target_value, torch.cat([part.target_value for part in parts]))


@given(trajectories)
def test_on_policy_both_have_the_same_targets(
    given_: list[tuple[list[tuple[float, float, float]], RowKind, float]],
) -> None:
    rows = played(*given_)._replace(log_ratio=torch.zeros(sum(len(steps) + 1 for steps, _, _ in given_)))
    torch.testing.assert_close(Gae(0.9, 0.7)(rows).target_value, VTrace(0.9, 0.7, Clips())(rows).target_value)


@pytest.mark.parametrize("kind", [FULL, TRUNCATED, LOST, TERMINATED])
def test_the_end_decides_whether_the_value_behind_it_counts(kind: RowKind) -> None:
    rows = played(([(1.0, 0.0, 0.0)], kind, 10.0))
    for estimator in EVERY:
        assert estimator(rows).target_value.tolist() == pytest.approx([1.0 if kind is TERMINATED else 10.0, 0.0])


def test_flat_rows_are_traced_by_the_papers_definition() -> None:
    batch = drawn(3, 6, 1)
    batch.cut_t[:] = 0
    batch.terminated[:] = 0
    batch.terminated[-1] = 1
    columns = (batch.r_t[:, 0], batch.v_tm1[:, 0], batch.log_rho[:, 0])
    values = np.array([column.tolist() for column in columns]).T
    batch.v_t = torch.cat([batch.v_tm1[1:], batch.v_t[-1:]])
    rows = played(([tuple(row) for row in values], TERMINATED, float(batch.v_t[-1])))
    got = VTrace(0.9, 0.8, Clips(1.5, 0.9, 1.2))(rows)
    targets, advantages = by_definition(batch, 0.8, Clips(1.5, 0.9, 1.2))
    np.testing.assert_allclose(got.target_value[:-1], targets, rtol=1e-4)
    np.testing.assert_allclose(got.advantage[:-1], advantages, rtol=1e-4)
