"""n-step, λ, upgoing and Retrace returns against their definitions, one trajectory at a time, in plain Python."""

import json
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from app.algorithms.n_step import n_step_returns
from app.algorithms.retrace import retrace_targets
from app.algorithms.td_lambda import lambda_returns
from app.algorithms.upgo import upgo_returns
from tests.algorithms.batches import GAMMA, Batch, batches, drawn, joined

VECTORS = json.loads((Path(__file__).parent.parent / "vectors/tianshou_nstep.json").read_text())
lambdas = st.sampled_from([0.0, 0.4, 1.0])


def lists(batch: Batch) -> tuple[list[float], list[float], list[float], list[float], list[float]]:
    """Returns rewards, discounts, values before, values after and ratios of one trajectory."""
    discount = (GAMMA * (1 - batch.terminated))[:, 0].tolist()
    r, before, after, log_rho = (x[:, 0] for x in (batch.r_t, batch.v_tm1, batch.v_t, batch.log_rho))
    return r.tolist(), discount, before.tolist(), after.tolist(), log_rho.exp().tolist()


def n_step(batch: Batch, n: int) -> list[float]:
    r, discount, _, after, _ = lists(batch)
    found = []
    for s in range(len(r)):
        last = min(s + n, len(r)) - 1
        total, product = 0.0, 1.0
        for t in range(s, last + 1):
            total += product * r[t]
            product *= discount[t]
        found.append(total + product * after[last])
    return found


def forward_view(batch: Batch, lambda_: float) -> list[float]:
    """Returns (1 - λ) Σ λ^(n-1) G^(n), and all that is left on the longest return."""
    length = len(batch.r_t)
    by_n = [n_step(batch, n) for n in range(1, length + 1)]
    found = []
    for s in range(length):
        longest = length - s
        parts = [(1 - lambda_) * lambda_ ** (n - 1) * by_n[n - 1][s] for n in range(1, longest)]
        found.append(sum(parts) + lambda_ ** (longest - 1) * by_n[longest - 1][s])
    return found


def upgoing(batch: Batch) -> list[float]:
    r, discount, before, after, _ = lists(batch)
    found = []
    for s in range(len(r)):
        total, product, t = r[s], discount[s], s
        while t + 1 < len(r) and r[t + 1] + discount[t + 1] * after[t + 1] >= before[t + 1]:
            t += 1
            total += product * r[t]
            product *= discount[t]
        found.append(total + product * after[t])
    return found


def retraced(batch: Batch, lambda_: float) -> list[float]:
    r, discount, before, after, rho = lists(batch)
    found = []
    for s in range(len(r)):
        total, product = before[s], 1.0
        for t in range(s, len(r)):
            if t > s:
                product *= discount[t - 1] * lambda_ * min(1.0, rho[t])
            total += product * (r[t] + discount[t] * after[t] - before[t])
        found.append(total)
    return found


@given(batches, st.integers(1, 10))
def test_n_step_returns_are_their_definition_in_each_trajectory(batch: Batch, n: int) -> None:
    columns = range(batch.r_t.shape[1])
    wanted = joined(batch, [[n_step(part, n) for part in batch.trajectories(c)] for c in columns])
    torch.testing.assert_close(n_step_returns(batch.r_t, batch.discount_t, batch.v_t, batch.cut_t, n), wanted)


@given(batches, lambdas)
def test_lambda_returns_are_the_forward_view_of_each_trajectory(batch: Batch, lambda_: float) -> None:
    columns = range(batch.r_t.shape[1])
    wanted = joined(batch, [[forward_view(part, lambda_) for part in batch.trajectories(c)] for c in columns])
    torch.testing.assert_close(lambda_returns(batch.r_t, batch.discount_t, batch.v_t, batch.cut_t, lambda_), wanted)


@given(batches)
def test_upgoing_returns_follow_each_trajectory_while_it_goes_better_than_expected(batch: Batch) -> None:
    columns = range(batch.r_t.shape[1])
    wanted = joined(batch, [[upgoing(part) for part in batch.trajectories(c)] for c in columns])
    got = upgo_returns(batch.r_t, batch.discount_t, batch.v_tm1, batch.v_t, batch.cut_t)
    torch.testing.assert_close(got, wanted)


@given(batches, lambdas)
def test_retrace_is_the_papers_sum_in_each_trajectory(batch: Batch, lambda_: float) -> None:
    columns = range(batch.r_t.shape[1])
    wanted = joined(batch, [[retraced(part, lambda_) for part in batch.trajectories(c)] for c in columns])
    got = retrace_targets(batch.r_t, batch.discount_t, batch.v_tm1, batch.v_t, batch.log_rho, batch.cut_t, lambda_)
    torch.testing.assert_close(got, wanted)


@pytest.mark.parametrize("n", [1, 2, 10])
def test_n_step_returns_are_those_that_tianshou_tests_for(n: int) -> None:
    order = VECTORS["order_of_indices"]
    reward = torch.tensor([VECTORS["rew"][i] for i in order], dtype=torch.float64)[:, None]
    done = torch.tensor([VECTORS["done"][i] for i in order], dtype=torch.float64)[:, None]
    truncated = torch.tensor([i == VECTORS["truncated_at_index"] for i in order], dtype=torch.float64)[:, None]
    # The vector's value of the state behind row i is minus the reward of the row that follows it in its trajectory,
    # and of the row itself where none follows.
    expected = torch.tensor(VECTORS["expected"][str(n)], dtype=torch.float64)[:, None]
    cut = done.clone()
    cut[-1] = 1  # The ring ends here.
    following = torch.cat([reward[1:], reward[-1:]])
    value = -torch.where(cut > 0, reward, following)
    got = n_step_returns(reward, VECTORS["gamma"] * (1 - done * (1 - truncated)), value, cut, n)
    torch.testing.assert_close(got, expected)


def test_n_below_one_is_refused() -> None:
    batch = drawn(0, 3, 1)
    with pytest.raises(ValueError, match="at least 1, got 0"):
        n_step_returns(batch.r_t, batch.discount_t, batch.v_t, batch.cut_t, 0)


def test_a_full_window_of_three_is_worth_the_rewards_and_the_discounted_value() -> None:
    ones, half = torch.ones(3, 1), torch.full((3, 1), 0.5)
    got = n_step_returns(ones, half, torch.full((3, 1), 8.0), torch.zeros(3, 1), 3)
    assert got[0].tolist() == [1.75 + 0.125 * 8]
