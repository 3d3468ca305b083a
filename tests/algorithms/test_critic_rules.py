"""TD3, DDPG and IQL against their formulas on one batch, by the values that the network itself gives; see
``test_critic_learner`` for SAC."""

import numpy as np
import pytest
import torch
from scipy.stats import norm
from torch import Tensor

from app.types import RowKind

from .kinds import CRITICS_OF_CHOICES, CRITICS_OF_NUMBERS, GAMMA, Case

MIDDLE, HALF = 1.0, 3.0
"""Of [-2, 4]."""


def case(kind: str, *, numbers: bool) -> Case:
    return next(one for one in (CRITICS_OF_NUMBERS if numbers else CRITICS_OF_CHOICES) if one.kind == kind)


def told(one: Case, batch: dict[str, Tensor], **changes: object) -> dict[str, float]:
    learner = one.learner(one.network(), rate=0, **changes)
    return learner.update(batch, torch.Generator().manual_seed(0)).metrics


class Steps:
    """Steps of one trajectory that terminates, and the arrays of their states."""

    def __init__(self, one: Case) -> None:
        self.batch = one.rows([(4, RowKind.TERMINATED)])
        self.reward = self.batch["reward"][:4].double().numpy()
        self.discount = np.array([GAMMA, GAMMA, GAMMA, 0.0])
        self.seen, self.reached = self.batch["observation"][:4], self.batch["observation"][1:5]
        self.action = self.batch["action"][:4]


@pytest.mark.parametrize("kind", ["td3", "ddpg"])
def test_the_policy_of_the_means_climbs_the_first_critic(kind: str) -> None:
    one = case(kind, numbers=True)
    steps, module = Steps(one), one.network()
    with torch.no_grad():
        mean, mean_t = (module(x).dist_inputs[:, :2] for x in (steps.seen, steps.reached))
        own = module(steps.seen, MIDDLE + HALF * mean.tanh(), criticise=True)[0]
        q_t = module(steps.reached, MIDDLE + HALF * mean_t.tanh(), criticise=True).double().numpy()
        q = module(steps.seen, steps.action, criticise=True).double().numpy()
    target = steps.reward + steps.discount * q_t.min(0)
    found = told(one, steps.batch, **({"policy_every_steps": 1} if kind == "td3" else {}))
    assert found["loss_critic"] == pytest.approx(0.5 * ((q - target) ** 2).sum(0).mean(), rel=1e-4)
    assert found["loss_policy"] == pytest.approx(-float(own.mean()), rel=1e-4)


@pytest.mark.parametrize("numbers", [False, True])
def test_iql_is_equations_5_to_7(numbers: bool) -> None:
    one = case("iql", numbers=numbers)
    steps, module = Steps(one), one.network()
    with torch.no_grad():
        inputs, value, value_t = module(steps.seen).dist_inputs, module(steps.seen).value, module(steps.reached).value
        if numbers:
            q = module(steps.seen, steps.action, criticise=True).double().numpy()
        else:
            every = module(steps.seen, criticise=True)
            q = every.gather(2, steps.action.expand(2, -1)[..., None])[..., 0].double().numpy()
    log_prob = squashed_normal(inputs, steps.action) if numbers else categorical(inputs, steps.action)
    target = steps.reward + steps.discount * value_t.double().numpy()
    error = q.min(0) - value.double().numpy()
    tau, beta, largest = 0.8, 2.0, 5.0
    found = told(one, steps.batch, expectile=tau, advantage_scale=beta, largest_weight=largest)
    assert found["loss_critic"] == pytest.approx(0.5 * ((q - target) ** 2).sum(0).mean(), rel=1e-4)
    assert found["loss_value"] == pytest.approx((np.abs(tau - (error < 0)) * error**2).mean(), rel=1e-4)
    weight = np.minimum(np.exp(beta * error), largest)
    assert found["loss_policy"] == pytest.approx(-(weight * log_prob).mean(), rel=1e-4)


def categorical(logits: Tensor, action: Tensor) -> np.ndarray:
    return logits.double().log_softmax(-1).gather(1, action[:, None])[:, 0].numpy()


def squashed_normal(inputs: Tensor, action: Tensor) -> np.ndarray:
    """Returns log-densities by the change of variables of SAC's appendix C, out of scipy's normal density."""
    mean, log_std = inputs.double().numpy()[:, :2], inputs.double().numpy()[:, 2:]
    unit = (action.double().numpy() - MIDDLE) / HALF
    before = norm.logpdf(np.arctanh(unit), mean, np.exp(log_std))
    return (before - np.log(1 - unit**2) - np.log(HALF)).sum(1)
