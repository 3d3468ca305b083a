from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from app.algorithms.q_learner import QLearner, QSettings
from app.algorithms.schedules import Line
from app.algorithms.target_network import TargetSettings
from app.errors import CheckpointError, NonFiniteLossError
from app.models.networks.policy import build
from app.models.networks.q_network import QNetwork
from tests.plain_stepper import plain_stepper

from .transitions import BEST, LENGTH, chain, transitions

NEVER = Line(0.0, 0.0, 1)
SETTINGS = QSettings(TargetSettings(None, 1.0), double=True, huber_delta=1.0, epsilon=NEVER, minibatches=1)
KINDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "dueling": {"dueling": True, "hidden": [8]},
    "noisy": {"noisy": True},
    "categorical": {"returns": {"kind": "categorical", "atoms": 41, "low": 0, "high": 1}},
    "quantile": {"returns": {"kind": "quantile", "atoms": 5}},
    "rainbow": {"dueling": True, "noisy": True, "returns": {"kind": "categorical", "atoms": 41, "low": 0, "high": 1}},
}


def network(q: dict[str, Any] | None = None, inputs: int = LENGTH + 1, choices: int = 2) -> QNetwork:
    torch.manual_seed(0)
    module = build({"shape": [inputs]}, {"choices": choices}, encoder={"kind": "mlp", "hidden": []}, q=q or {})
    assert isinstance(module, QNetwork)
    return module


def learner_of(module: QNetwork, of: QSettings = SETTINGS, rate: float = 0.05, *, adam: bool = True) -> QLearner:
    kind = torch.optim.Adam if adam else torch.optim.SGD
    stepper = plain_stepper(module, kind(module.parameters(), rate), 1e9)
    return QLearner(module, module.spec, stepper, of, 1, lambda x: x)


def shuffle(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def parameters_of(module: torch.nn.Module) -> Tensor:
    return torch.cat([x.detach().flatten().clone() for x in module.parameters()])


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_network_learns_the_chain(kind: str) -> None:
    module, rng = network(KINDS[kind]), np.random.default_rng(0)
    learner = learner_of(module, replace(SETTINGS, target=TargetSettings(5, 1.0)))
    for update in range(80):
        learner.update(chain(module.spec, rng.integers(0, 2, 64)), shuffle(update))
    values = module.expected(module(torch.eye(LENGTH + 1), returns=True))[:LENGTH].detach()
    assert values.argmax(1).tolist() == BEST
    torch.testing.assert_close(values[:, 1], torch.tensor([0.15, 0.3, 0.5, 1.0]), rtol=0, atol=0.12)


def test_an_update_is_one_step_down_the_huber_loss_by_hand() -> None:
    module = network(inputs=2)
    batch = transitions(
        module.spec, [[1.0, 0.0], [0.0, 2.0]], [0, 1], [1.0, -3.0], [0.9, 0.0], [[0.5, 0.5], [9.0, 9.0]]
    )
    batch["weight"] = torch.tensor([0.5, 1.0])
    layer = module.advantage[0]
    q = batch["observation"] @ layer.weight.T + layer.bias
    q_t = batch["next_observation"] @ layer.weight.T + layer.bias
    target = torch.stack([1 + 0.9 * q_t[0].max(), torch.tensor(-3.0)]).detach()
    chosen = torch.stack([q[0, 0], q[1, 1]])
    losses = torch.nn.functional.huber_loss(chosen, target, reduction="none")
    gradients = torch.autograd.grad((losses * batch["weight"]).sum() / 2, list(module.parameters()))
    expected = parameters_of(module) - 0.1 * torch.cat([g.flatten() for g in gradients])
    learned = learner_of(module, rate=0.1, adam=False).update(batch, shuffle())
    torch.testing.assert_close(parameters_of(module), expected)
    assert learned.priorities is not None
    torch.testing.assert_close(learned.priorities, (target - chosen).detach().abs())
    assert learned.metrics["error"] == pytest.approx(float(learned.priorities.mean()))


def test_what_is_forbidden_in_the_state_reached_is_no_target() -> None:
    module = network(inputs=1)
    with torch.no_grad():
        module.advantage[0].weight.zero_()
        module.advantage[0].bias.copy_(torch.tensor([1.0, 100.0]))
    batch = transitions(module.spec, [[1.0]], [0], [0.0], [1.0], [[1.0]])
    batch["next_action_mask"] = torch.tensor([[1, 0]], dtype=torch.uint8)
    for double in (True, False):
        learned = learner_of(module, replace(SETTINGS, double=double), rate=0.0).update(batch, shuffle())
        assert learned.priorities is not None
        assert learned.priorities.tolist() == [0.0]


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000))
def test_rows_that_do_not_count_change_nothing_and_have_no_priority(seed: int) -> None:
    plain, padded = network(), network()
    rng = np.random.default_rng(seed)
    rows = chain(plain.spec, rng.integers(0, 2, 6))
    more = {name: torch.cat([x, x]) for name, x in rows.items()}
    more["weight"][6:] = 0
    more["reward"][6:] = 1e6
    first = learner_of(plain).update(rows, shuffle())
    second = learner_of(padded).update(more, shuffle())
    torch.testing.assert_close(parameters_of(padded), parameters_of(plain))
    assert first.priorities is not None
    assert second.priorities is not None
    torch.testing.assert_close(second.priorities[:6], first.priorities)
    assert second.priorities[6:].tolist() == [0.0] * 6


def test_a_batch_without_a_row_that_counts_teaches_nothing() -> None:
    module = network()
    batch = chain(module.spec, np.zeros(4))
    batch["weight"].zero_()
    learner = learner_of(module)
    assert learner.update(batch, shuffle()) == ({}, None)
    assert int(learner.state_dict()["updates"]) == 0


def test_the_chance_of_a_random_action_falls_with_updates_and_is_part_of_the_weights() -> None:
    module = network()
    learner = learner_of(module, replace(SETTINGS, epsilon=Line(1.0, 0.2, 4)))
    seen = [float(module.state_dict()["epsilon"])]
    for update in range(6):
        learner.update(chain(module.spec, np.zeros(4)), shuffle(update))
        seen.append(float(module(torch.zeros(1, LENGTH + 1)).dist_inputs[0, -1].detach()))
    assert seen == pytest.approx([1.0, 0.8, 0.6, 0.4, 0.2, 0.2, 0.2])


def test_the_target_network_is_copied_when_it_is_due_and_stands_still_until_then() -> None:
    module = network()
    learner = learner_of(module, replace(SETTINGS, target=TargetSettings(2, 1.0)))
    first = learner.state_dict()["target.advantage.0.weight"]
    learner.update(chain(module.spec, np.zeros(4)), shuffle())
    assert torch.equal(learner.state_dict()["target.advantage.0.weight"], first)
    learner.update(chain(module.spec, np.zeros(4)), shuffle())
    assert torch.equal(learner.state_dict()["target.advantage.0.weight"], module.advantage[0].weight)
    assert not torch.equal(module.advantage[0].weight, first)


def test_a_restored_learner_goes_on_bit_by_bit() -> None:
    of = replace(SETTINGS, target=TargetSettings(3, 1.0), epsilon=Line(1.0, 0.0, 10), minibatches=2)
    module, other = network(KINDS["rainbow"]), network(KINDS["rainbow"])
    batches = [chain(module.spec, np.random.default_rng(n).integers(0, 2, 8)) for n in range(4)]
    learner = learner_of(module, of, adam=False)
    for update in range(2):
        learner.update(batches[update], shuffle(update))
    saved, weights = learner.state_dict(), {name: x.clone() for name, x in module.state_dict().items()}
    other.load_state_dict(weights)
    restored = learner_of(other, of, adam=False)
    restored.load_state_dict(saved)
    for update in (2, 3):
        assert (
            learner.update(batches[update], shuffle(update)).metrics
            == restored.update(batches[update], shuffle(update)).metrics
        )
    assert torch.equal(parameters_of(module), parameters_of(other))
    assert torch.equal(module.epsilon, other.epsilon)
    with pytest.raises(CheckpointError, match="none of a Q learner"):
        restored.load_state_dict({})


def test_conservative_learning_does_not_believe_in_what_nobody_did() -> None:
    values = []
    for coef in (0.0, 1.0):
        module = network()
        learner = learner_of(module, replace(SETTINGS, conservative_coef=coef))
        with torch.no_grad():
            module.advantage[0].bias[1] = 5.0
        for update in range(100):
            learner.update(chain(module.spec, np.zeros(16)), shuffle(update))
        values.append(module(torch.eye(LENGTH + 1)).dist_inputs[:LENGTH, :2].detach())
    assert (values[0][:, 1] > 3).all()
    assert (values[1][:, 1] < values[1][:, 0]).all()


def test_a_reward_without_bound_stops_training_before_it_spreads() -> None:
    module = network()
    before = parameters_of(module)
    batch = chain(module.spec, np.zeros(4))
    batch["reward"][1] = float("nan")
    with pytest.raises(NonFiniteLossError):
        learner_of(module).update(batch, shuffle())
    assert torch.equal(parameters_of(module), before)


def test_a_policy_is_refused_with_what_is_allowed() -> None:
    policy = build({"shape": [2]}, {"choices": 2})
    with pytest.raises(ValueError, match="its action is Categorical; allowed is one EpsilonGreedy"):
        QLearner(
            policy,
            policy.spec,
            plain_stepper(policy, torch.optim.SGD(policy.parameters()), 1.0),
            SETTINGS,
            1,
            lambda x: x,
        )
