"""Losses and targets against the formulas of their papers, row by row in plain Python and scipy, in float64."""

import math

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import huber, log_softmax, logsumexp, softmax
from torch import Tensor

from app.algorithms.actor_critic import ActorCritic
from app.algorithms.dqn import Transitions, double_q_target, q_loss
from app.algorithms.imitation import Cloning, conservative_penalty, expectile_loss, soft_maximum
from app.algorithms.ppo import ClippedPolicy
from app.algorithms.sac import (
    DiscretePolicy,
    critic_loss,
    policy_loss,
    policy_loss_discrete,
    soft_target,
    soft_value,
    soft_value_discrete,
    temperature_loss,
)
from app.algorithms.target_network import track
from app.algorithms.td3 import clipped_double_q_target, deterministic_policy_loss, smoothed
from app.algorithms.worth import Worth

Floats = NDArray[np.float64]
seeds = st.integers(0, 2**32)
CLOSE = {"rtol": 1e-9, "atol": 1e-9}


class Drawn:
    """Random columns of a few rows."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self.rows = int(self._rng.integers(1, 7))
        self.choices = int(self._rng.integers(2, 5))

    def normal(self, *shape: int) -> Floats:
        return self._rng.normal(size=shape or (self.rows,)) * 2

    def weight(self) -> Floats:
        return self._rng.choice([0.0, 0.3, 1.0], self.rows)

    def action(self) -> NDArray[np.int64]:
        return self._rng.integers(0, self.choices, self.rows)

    def mask(self, action: NDArray[np.int64]) -> NDArray[np.bool_]:
        found = self._rng.random((self.rows, self.choices)) < 0.6
        found[np.arange(self.rows), action] = True
        return found

    def discount(self) -> Floats:
        return self._rng.choice([0.0, 0.81, 0.9], self.rows)

    def uniform(self, low: float, high: float) -> float:
        return float(self._rng.uniform(low, high))


def tensors(*columns: NDArray[np.generic]) -> list[Tensor]:
    return [torch.from_numpy(np.ascontiguousarray(column)) for column in columns]


def assert_is(got: Tensor, wanted: object) -> None:
    torch.testing.assert_close(got.double(), torch.as_tensor(wanted, dtype=torch.float64), **CLOSE)


@given(seeds, st.booleans(), st.booleans())
def test_ppo_is_equations_7_and_9_with_both_further_clips(seed: int, dual: bool, clips_value: bool) -> None:
    drawn = Drawn(seed)
    behaviour, advantage, target, before, value, entropy = (drawn.normal() for _ in range(6))
    log_prob, weight = behaviour + drawn.normal() / 3, drawn.weight()
    epsilon, bound, near = drawn.uniform(0.05, 0.4), drawn.uniform(1.5, 4), drawn.uniform(0.1, 1)
    policy = values = 0.0
    for i in range(drawn.rows):
        ratio = math.exp(log_prob[i] - behaviour[i])
        gain = min(ratio * advantage[i], min(max(ratio, 1 - epsilon), 1 + epsilon) * advantage[i])
        if dual and advantage[i] < 0:
            gain = max(gain, bound * advantage[i])
        error = (value[i] - target[i]) ** 2
        if clips_value:
            clipped = before[i] + min(max(value[i] - before[i], -near), near)
            error = max(error, (clipped - target[i]) ** 2)
        policy -= weight[i] * gain
        values += weight[i] * error
    loss = ClippedPolicy(epsilon, 0.5, 0.01, bound if dual else None, near if clips_value else None)
    got = loss(*tensors(log_prob, entropy, value), Worth(*tensors(behaviour, advantage, target, weight, before)))
    assert_is(got.policy, policy)
    assert_is(got.value, values)
    assert_is(got.total, policy + 0.5 * values - 0.01 * float(weight @ entropy))


@given(seeds)
def test_the_actor_critic_is_the_policy_gradient(seed: int) -> None:
    """The gradient of log π times the advantage, as softmax has it: (1[a] - π) A."""
    drawn = Drawn(seed)
    logits, action = drawn.normal(drawn.rows, drawn.choices), drawn.action()
    advantage, target, value, weight = drawn.normal(), drawn.normal(), drawn.normal(), drawn.weight()
    leaf = torch.from_numpy(logits).requires_grad_()
    log_probs = leaf.log_softmax(-1)
    worth = Worth(*tensors(np.zeros(drawn.rows), advantage, target, weight))
    chosen = log_probs[torch.arange(drawn.rows), torch.from_numpy(action)]
    entropy = -(log_probs.exp() * log_probs).sum(-1)
    got = ActorCritic(0.25, 0.0)(chosen, entropy, torch.from_numpy(value), worth)
    got.total.backward()  # type: ignore[no-untyped-call]
    wanted = -(weight * advantage)[:, None] * (np.eye(drawn.choices)[action] - softmax(logits, -1))
    assert leaf.grad is not None
    assert_is(leaf.grad, wanted)
    assert_is(got.value, 0.5 * float(weight @ (value - target) ** 2))
    assert_is(got.total - got.policy, 0.125 * float(weight @ (value - target) ** 2))


@given(seeds)
def test_marwil_weighs_by_the_exponential_of_the_advantage(seed: int) -> None:
    drawn = Drawn(seed)
    log_prob, advantage, target, value, entropy = (drawn.normal() for _ in range(5))
    weight, scale, largest = drawn.weight(), drawn.uniform(0, 2), drawn.uniform(1, 20)
    policy = -sum(
        w * min(math.exp(scale * a), largest) * p for w, a, p in zip(weight, advantage, log_prob, strict=True)
    )
    got = Cloning(scale, largest, 0.5, 0.1)(
        *tensors(log_prob, entropy, value), Worth(*tensors(np.zeros(drawn.rows), advantage, target, weight))
    )
    assert_is(got.policy, policy)
    assert_is(got.total, policy + 0.25 * float(weight @ (value - target) ** 2) - 0.1 * float(weight @ entropy))


@given(seeds)
def test_dqn_is_hubers_loss_of_the_double_target(seed: int) -> None:
    drawn = Drawn(seed)
    online, slow, q = (drawn.normal(drawn.rows, drawn.choices) for _ in range(3))
    action, reward, discount, weight = drawn.action(), drawn.normal(), drawn.discount(), drawn.weight()
    mask, delta = drawn.mask(drawn.action()), drawn.uniform(0.2, 3)
    best = np.where(mask, online, -np.inf).argmax(1)
    target = reward + discount * slow[np.arange(drawn.rows), best]
    error = target - q[np.arange(drawn.rows), action]
    batch = Transitions(*tensors(action, reward, discount, weight))
    got_target = double_q_target(batch, *tensors(online, slow, mask))
    got = q_loss(torch.from_numpy(q), batch, got_target, delta)
    assert_is(got_target, target)
    assert_is(got.error, error)
    assert_is(got.total, float(weight @ huber(delta, error)))


@given(seeds)
def test_cql_is_the_log_of_the_sum_less_what_was_done(seed: int) -> None:
    drawn = Drawn(seed)
    q, action, weight = drawn.normal(drawn.rows, drawn.choices), drawn.action(), drawn.weight()
    mask = drawn.mask(action)
    excess = logsumexp(np.where(mask, q, -np.inf), -1) - q[np.arange(drawn.rows), action]
    assert_is(conservative_penalty(*tensors(q, action, weight, mask)), float(weight @ excess))
    sampled, density = drawn.normal(2, 5, drawn.rows), drawn.normal(5, drawn.rows)
    wanted = logsumexp(sampled - density, 1) - math.log(5)
    assert_is(soft_maximum(*tensors(sampled, density)), wanted)


@given(seeds)
def test_iql_is_the_expectile_of_equation_5(seed: int) -> None:
    drawn = Drawn(seed)
    error, weight, tau = drawn.normal(), drawn.weight(), drawn.uniform(0.5, 0.99)
    wanted = sum(w * abs(tau - (u < 0)) * u**2 for w, u in zip(weight, error, strict=True))
    got = expectile_loss(torch.from_numpy(error), tau, torch.from_numpy(weight))
    torch.testing.assert_close(got, torch.tensor(wanted, dtype=torch.float64), rtol=1e-6, atol=0)  # τ is a float32.


@given(seeds)
def test_sac_of_numbers_is_equations_5_to_9_and_18(seed: int) -> None:
    drawn = Drawn(seed)
    q, log_prob, weight = drawn.normal(2, drawn.rows), drawn.normal(), drawn.weight()
    reward, discount, temperature = drawn.normal(), drawn.discount(), drawn.uniform(0.01, 2)
    alpha, kept = torch.tensor(temperature, dtype=torch.float64), drawn.uniform(-2, 2)
    value = [min(q[0, i], q[1, i]) - temperature * log_prob[i] for i in range(drawn.rows)]
    target = reward + discount * np.array(value)
    assert_is(soft_value(*tensors(q, log_prob), alpha), value)
    assert_is(soft_target(*tensors(reward, discount, np.array(value))), target)
    assert_is(policy_loss(*tensors(q, log_prob), alpha, torch.from_numpy(weight)), -float(weight @ np.array(value)))
    assert_is(critic_loss(*tensors(q, target, weight)), 0.5 * float((weight * (q - target) ** 2).sum()))
    got = temperature_loss(alpha.log(), *tensors(-log_prob), kept, torch.from_numpy(weight))
    assert_is(got, -math.log(temperature) * float(weight @ (log_prob + kept)))


@given(seeds)
def test_sac_of_choices_is_the_expectation_over_the_policy(seed: int) -> None:
    drawn = Drawn(seed)
    q, logits = drawn.normal(2, drawn.rows, drawn.choices), drawn.normal(drawn.rows, drawn.choices)
    weight, temperature = drawn.weight(), drawn.uniform(0.01, 2)
    policy = DiscretePolicy(*tensors(softmax(logits, -1), log_softmax(logits, -1)))
    wanted = (softmax(logits, -1) * (q.min(0) - temperature * log_softmax(logits, -1))).sum(-1)
    alpha = torch.tensor(temperature, dtype=torch.float64)
    assert_is(soft_value_discrete(torch.from_numpy(q), policy, alpha), wanted)
    assert_is(policy_loss_discrete(torch.from_numpy(q), policy, alpha, torch.from_numpy(weight)), -weight @ wanted)


@given(seeds)
def test_td3_is_its_algorithm_1(seed: int) -> None:
    drawn = Drawn(seed)
    q, reward, discount, weight = drawn.normal(2, drawn.rows), drawn.normal(), drawn.discount(), drawn.weight()
    assert_is(clipped_double_q_target(*tensors(reward, discount, q)), reward + discount * q.min(0))
    assert_is(deterministic_policy_loss(*tensors(q[0], weight)), -float(weight @ q[0]))
    low, high = np.array([-1.0, 0.0]), np.array([2.0, 10.0])
    action = np.clip(drawn.normal(drawn.rows, 2), low, high)
    noise = torch.randn(action.shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).numpy()
    wanted = np.clip(action + (high - low) / 2 * np.clip(0.3 * noise, -0.4, 0.4), low, high)
    got = smoothed(*tensors(action, low, high), 0.3, 0.4, torch.Generator().manual_seed(seed))
    assert_is(got, wanted)


@given(seeds, st.floats(0, 1))
def test_targets_follow_by_polyak_averaging(seed: int, rate: float) -> None:
    drawn = Drawn(seed)
    slow, fast = torch.nn.Linear(3, 2).double(), torch.nn.Linear(3, 2).double()
    before, online = (drawn.normal(2, 3) for _ in range(2))
    slow.weight.data, fast.weight.data = tensors(before.copy(), online)
    track(slow, fast, rate)
    assert_is(slow.weight, rate * online + (1 - rate) * before)
