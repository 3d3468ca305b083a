import math

import numpy as np
import pytest
import torch
from torch import Tensor

from app.algorithms.conservatism import Conservatism
from app.algorithms.critic_networks import CriticNetworks
from app.algorithms.critic_rules import SoftActorCritic
from app.algorithms.imitation import soft_maximum
from app.algorithms.sampled_actions import even_actions, sampled_actions
from app.algorithms.target_network import TargetSettings
from app.models.networks.actor_critics import ActorCritics
from tests.algorithms.test_critic_learner import CHOICES, NUMBERS, batch_for, learner_of, network, shuffle, steered

RULES = [SoftActorCritic(None, 0.1), SoftActorCritic(None, 0.1, Conservatism(5.0, 10))]


def test_a_soft_maximum_by_hand() -> None:
    """Two actions of densities 1/2 and 1/4: log(½ (e / ½ + e² / ¼))."""
    q = torch.tensor([[[1.0], [2.0]]])
    got = soft_maximum(q, torch.tensor([[0.5], [0.25]]).log())
    assert got.tolist() == [[pytest.approx(math.log(0.5 * (math.e / 0.5 + math.e**2 / 0.25)))]]


def test_sampled_actions_estimate_the_integral() -> None:
    """Of Q = -(a - 1)² over [-2, 4], by the trapezoid rule on a fine grid."""
    module = network({"shape": [1], "low": -2, "high": 4})
    inputs = torch.tensor([[0.3, -0.2]]).repeat(40_000, 1)
    drawn = sampled_actions(module.spec, [inputs], shuffle()), even_actions(module.spec, inputs, shuffle(1))
    actions = torch.cat([one.actions[0][:, 0] for one in drawn])
    density = torch.cat([one.log_prob for one in drawn])
    got = soft_maximum(-(actions - 1).square()[None, :, None], density[:, None])
    grid = np.linspace(-2, 4, 100_001)
    expected = math.log(np.trapezoid(np.exp(-((grid - 1) ** 2)), grid))
    assert got.item() == pytest.approx(expected, abs=0.02)


def test_even_actions_fill_their_bounds() -> None:
    module = network(NUMBERS)
    drawn = even_actions(module.spec, torch.zeros(2000, 1), shuffle())
    go, turn = drawn.actions
    assert (go.shape, turn.shape) == ((2000, 1), (2000,))
    assert (go.min().item(), go.max().item()) == (pytest.approx(-2, abs=0.02), pytest.approx(4, abs=0.02))
    assert turn.min() >= 0
    assert turn.max() <= 1
    torch.testing.assert_close(drawn.log_prob, torch.full((2000,), -math.log(6)))  # 6 · 1 is the volume.


def test_choices_are_exact_and_masked_ones_do_not_count() -> None:
    module = network(CHOICES)
    networks = CriticNetworks(module, module.spec, TargetSettings(None, 0.2))
    batch = batch_for(module, 0)
    batch["action_mask"][0] = torch.tensor([1, 0])
    batch["action"][0] = 0
    part = networks.part(batch, torch.arange(8))
    q = networks.values(part.observation, part.action)
    got = Conservatism(1.0, 10).excess(networks, part, [], q, shuffle())
    every = module(batch["observation"], criticise=True)
    torch.testing.assert_close(got[:, 1:], (every.logsumexp(-1) - q)[:, 1:])
    assert got[:, 0].tolist() == [0.0, 0.0]  # One is allowed, and it was done.


def test_the_gradient_reaches_the_critics_alone() -> None:
    module = network(NUMBERS)
    networks = CriticNetworks(module, module.spec, TargetSettings(None, 0.2))
    part = networks.part(batch_for(module, 0), torch.arange(8))
    dist_inputs, _ = networks.policy(part.observation)
    q = networks.values(part.observation, part.action)
    Conservatism(1.0, 3).excess(networks, part, dist_inputs, q, shuffle()).sum().backward()  # type: ignore[no-untyped-call]
    assert all(x.grad is None for x in module.policy.parameters())
    assert all(x.grad is not None for x in module.critics.parameters())


def gap(rule: SoftActorCritic) -> float:
    """Returns by how much critics prefer a recorded action, go = 3, to one that nobody did, go = -1.5."""
    module, rng = network(NUMBERS, hidden=(32, 32)), np.random.default_rng(0)
    learner = learner_of(module, rule)
    for update in range(20):
        batch = steered(module, rng, 32)
        batch["action/go"] = torch.from_numpy(rng.normal(3, 0.1, (32, 1)).astype(np.float32))
        learner.update(batch | {"reward": torch.zeros(32)}, shuffle(update))
    return float(valued(module, 3.0) - valued(module, -1.5))


def valued(module: ActorCritics, go: float) -> Tensor:
    action = {"go": torch.tensor([[go]]), "turn": torch.tensor([0.5])}
    with torch.no_grad():
        return module(torch.zeros(1, 5), action, criticise=True).mean()


def test_what_nobody_did_is_not_believed_in() -> None:
    believing, doubting = gap(RULES[0]), gap(RULES[1])
    assert doubting > believing + 1
