import json
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from app.algorithms.td_lambda import lambda_returns
from app.algorithms.vtrace import Clips, vtrace
from tests.algorithms.batches import GAMMA, Batch, batches, drawn, joined

VECTORS = json.loads((Path(__file__).parent.parent / "vectors/rlax_vtrace.json").read_text())


def log_prob(logits: object) -> torch.Tensor:
    actions = torch.tensor(VECTORS["actions"])[..., None]
    return torch.tensor(logits).log_softmax(-1).gather(-1, actions)[..., 0].T


def test_targets_and_advantages_are_those_that_rlax_tests_for() -> None:
    values = torch.tensor(VECTORS["values"]).T
    reached = torch.cat([values[1:], torch.tensor(VECTORS["bootstrap"])[None]])
    log_rho = log_prob(VECTORS["target_logits"]) - log_prob(VECTORS["behaviour_logits"])
    rewards, discounts = torch.tensor(VECTORS["rewards"]).T, torch.tensor(VECTORS["discounts"]).T
    got = vtrace(rewards, discounts, values, reached, log_rho, torch.zeros_like(values))
    tolerance = {"rtol": VECTORS["rtol"], "atol": 1e-4}
    torch.testing.assert_close((got.target_tm1 - values).T, torch.tensor(VECTORS["expected_vs_minus_v"]), **tolerance)
    torch.testing.assert_close(got.advantage.T, torch.tensor(VECTORS["expected_pg_advantage"]), **tolerance)


def by_definition(batch: Batch, lambda_: float, clips: Clips) -> tuple[list[float], list[float]]:
    """Returns targets and advantages of one trajectory by the paper's sum of products."""
    rows = range(len(batch.r_t))
    r, v, v_next, gone = (x[:, 0].tolist() for x in (batch.r_t, batch.v_tm1, batch.v_t, batch.terminated))
    rho = batch.log_rho[:, 0].exp().tolist()
    discount = [GAMMA * (1 - x) for x in gone]
    targets = []
    for s in rows:
        total, product = v[s], 1.0
        for t in range(s, len(r)):
            total += product * min(rho[t], clips.rho) * (r[t] + discount[t] * v_next[t] - v[t])
            product *= discount[t] * lambda_ * min(rho[t], clips.c)
        targets.append(total)
    following = [*targets[1:], v_next[-1]]
    advantages = [min(rho[t], clips.advantage) * (r[t] + discount[t] * following[t] - v[t]) for t in rows]
    return targets, advantages


@given(
    batches, st.sampled_from([Clips(), Clips(1.7, 0.8, 1.2), Clips(0.5, 2.5, 3.0)]), st.sampled_from([0.0, 0.7, 1.0])
)
def test_a_batch_is_its_trajectories_each_by_the_definition(batch: Batch, clips: Clips, lambda_: float) -> None:
    got = vtrace(batch.r_t, batch.discount_t, batch.v_tm1, batch.v_t, batch.log_rho, batch.cut_t, lambda_, clips)
    columns = range(batch.r_t.shape[1])
    wanted = [[by_definition(part, lambda_, clips) for part in batch.trajectories(column)] for column in columns]
    torch.testing.assert_close(got.target_tm1, joined(batch, [[part[0] for part in parts] for parts in wanted]))
    torch.testing.assert_close(got.advantage, joined(batch, [[part[1] for part in parts] for parts in wanted]))


@given(batches, st.floats(0, 1))
def test_on_policy_it_is_the_lambda_return(batch: Batch, lambda_: float) -> None:
    zeros = torch.zeros_like(batch.r_t)
    got = vtrace(batch.r_t, batch.discount_t, batch.v_tm1, batch.v_t, zeros, batch.cut_t, lambda_)
    wanted = lambda_returns(batch.r_t, batch.discount_t, batch.v_t, batch.cut_t, lambda_)
    torch.testing.assert_close(got.target_tm1, wanted)


def test_a_truncated_row_bootstraps_and_takes_nothing_from_the_next_trajectory() -> None:
    column = torch.tensor([[1.0], [100.0]])
    got = vtrace(column, torch.full((2, 1), 0.5), torch.zeros(2, 1), torch.tensor([[8.0], [0.0]]), torch.zeros(2, 1),
                 torch.tensor([[1.0], [0.0]]))  # fmt: skip
    assert got.target_tm1.tolist() == [[5.0], [100.0]]
    assert got.advantage.tolist() == [[5.0], [100.0]]


def test_arrays_of_unlike_shapes_are_refused() -> None:
    batch = drawn(0, 3, 2)
    with pytest.raises(ValueError, match=r"one shape \[T, B\]"):
        vtrace(batch.r_t[:2], batch.discount_t, batch.v_tm1, batch.v_t, batch.log_rho, batch.cut_t)
