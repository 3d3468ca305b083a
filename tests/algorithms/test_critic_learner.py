from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from app.algorithms.critic_learner import CriticLearner, CriticSettings, Rule
from app.algorithms.critic_rules import ImplicitQ, SoftActorCritic, TwinDelayed
from app.algorithms.target_network import TargetSettings
from app.errors import CheckpointError, NonFiniteLossError
from app.models.networks.actor_critics import ActorCritics
from app.models.networks.policy import build
from tests.plain_stepper import plain_stepper

from .transitions import BEST, LENGTH, chain, transitions

CHOICES: dict[str, Any] = {"choices": 2}
NUMBERS: dict[str, Any] = {"go": {"shape": [1], "low": -2, "high": 4}, "turn": {"shape": [], "low": 0, "high": 1}}
SAC, TD3 = SoftActorCritic(None, 0.1), TwinDelayed(2, 0.2, 0.5)
DDPG, IQL = TwinDelayed(1, 0.0, 0.5), ImplicitQ(0.8, 10.0, 100.0)
CASES: dict[str, tuple[Rule, dict[str, Any]]] = {
    "sac of choices": (SAC, CHOICES),
    "sac of numbers": (SAC, NUMBERS),
    "td3": (TD3, NUMBERS),
    "ddpg": (DDPG, NUMBERS),
    "iql of choices": (IQL, CHOICES),
    "iql of numbers": (IQL, NUMBERS),
}
every_case = pytest.mark.parametrize("case", CASES)


def network(action: dict[str, Any], inputs: int = LENGTH + 1, hidden: tuple[int, ...] = (16,)) -> ActorCritics:
    torch.manual_seed(0)
    encoder = {"kind": "mlp", "hidden": [], "orthogonal": False}
    critics = {"count": 2, "hidden": list(hidden)}
    module = build(
        {"shape": [inputs]}, action, encoder=encoder, critics=critics, std="state", head_gain=1.0, log_std=-0.5
    )
    assert isinstance(module, ActorCritics)
    return module


def learner_of(
    module: ActorCritics, rule: Rule, rate: float = 0.02, *, adam: bool = True, workers: int = 1
) -> CriticLearner:
    kind = torch.optim.Adam if adam else torch.optim.SGD
    stepper = plain_stepper(module, kind(module.parameters(), rate), 1e9)
    settings = CriticSettings(rule, TargetSettings(None, 0.2), 1)
    return CriticLearner(module, module.spec, stepper, settings, workers, lambda x: x)


def shuffle(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def parameters_of(module: torch.nn.Module) -> Tensor:
    return torch.cat([x.detach().flatten().clone() for x in module.parameters()])


def steered(module: ActorCritics, rng: np.random.Generator, rows: int = 32) -> dict[str, Tensor]:
    """Returns games of one tick that pay for going to 1 and turning to 0.75; random actions."""
    go, turn = rng.uniform(-2, 4, (rows, 1)).astype(np.float32), rng.random(rows).astype(np.float32)
    reward = -((go[:, 0] - 1) ** 2) / 4 - 4 * (turn - 0.75) ** 2
    nothing = [[0.0] * (LENGTH + 1)] * rows
    batch = transitions_of_numbers(module, nothing, reward)
    return batch | {"action/go": torch.from_numpy(go), "action/turn": torch.from_numpy(turn)}


def transitions_of_numbers(module: ActorCritics, seen: list[list[float]], reward: np.ndarray) -> dict[str, Tensor]:
    batch = transitions(module.spec, seen, [0] * len(seen), reward.tolist(), [0.0] * len(seen), seen)
    del batch["action"]
    return batch | {"reward": torch.from_numpy(reward.astype(np.float32))}


def batch_for(module: ActorCritics, seed: int, rows: int = 8) -> dict[str, Tensor]:
    rng = np.random.default_rng(seed)
    if len(module.spec.actions) == 1:
        return chain(module.spec, rng.integers(0, 2, rows))
    return steered(module, rng, rows)


@pytest.mark.parametrize("case", [name for name, (_, action) in CASES.items() if action is CHOICES])
def test_choices_on_the_chain(case: str) -> None:
    rule, action = CASES[case]
    module, rng = network(action), np.random.default_rng(0)
    learner = learner_of(module, rule)
    for update in range(120):
        learner.update(chain(module.spec, rng.integers(0, 2, 64)), shuffle(update))
    assert module(torch.eye(LENGTH + 1)).dist_inputs[:LENGTH].argmax(1).tolist() == BEST


@pytest.mark.parametrize("case", [name for name, (_, action) in CASES.items() if action is NUMBERS])
def test_numbers_find_where_it_pays(case: str) -> None:
    rule, action = CASES[case]
    module, rng = network(action, hidden=(32, 32)), np.random.default_rng(0)
    learner = learner_of(module, rule, 0.03)
    for update in range(100):
        learner.update(steered(module, rng, 64), shuffle(update))
    inputs = module(torch.zeros(1, LENGTH + 1)).dist_inputs
    go, turn = (inputs[name][0, 0].tanh().item() for name in ("go", "turn"))
    assert 1 + 3 * go == pytest.approx(1, abs=0.7)
    assert 0.5 + 0.5 * turn == pytest.approx(0.75, abs=0.12)


def test_the_loss_of_soft_choices_by_hand() -> None:
    module = network(CHOICES, inputs=2)
    batch = transitions(module.spec, [[1.0, 0.0]], [1], [2.0], [0.5], [[0.0, 1.0]])
    observation, following = batch["observation"], batch["next_observation"]
    with torch.no_grad():
        module.log_temperature.fill_(-1.0)
        policy_t = module(following).dist_inputs.log_softmax(-1)
        q_t = module(following, criticise=True).min(0).values
        policy = module(observation).dist_inputs.log_softmax(-1)
        q = module(observation, criticise=True)
        temperature = np.exp(-1)
        target = 2 + 0.5 * (policy_t.exp() * (q_t - temperature * policy_t)).sum()
        entropy = -(policy.exp() * policy).sum()
        expected = {
            "loss_critic": 0.5 * (q[:, 0, 1] - target).square().sum(),
            "loss_policy": -(policy.exp() * (q.min(0).values - temperature * policy)).sum(),
            "loss_temperature": -1.0 * (entropy - 0.1 * np.log(2)),
            "entropy": entropy,
        }
    learned = learner_of(module, SAC, rate=0.0).update(batch, shuffle())
    for name, value in expected.items():
        assert learned.metrics[name] == pytest.approx(float(value), rel=1e-5), name
    assert learned.priorities is not None
    assert learned.priorities[0] == pytest.approx(abs(float(target - q[:, 0, 1].mean())), rel=1e-5)


@every_case
def test_the_policy_learns_from_the_critics_and_they_not_from_it(case: str) -> None:
    rule, action = CASES[case]
    module = network(action)
    learner = learner_of(module, rule, rate=0.1, adam=False)
    batch = batch_for(module, 0)
    critics = parameters_of(module.critics)
    q = module(batch["observation"], criticise=True) if action is CHOICES else None
    learner.update(batch, shuffle())
    moved = parameters_of(module.critics)
    assert not torch.equal(critics, moved)
    again = network(action)
    only = learner_of(again, rule, rate=0.1, adam=False)
    for head in again.policy.parameters():  # Another policy, and no state behind: the critics' step is the same.
        with torch.no_grad():
            head.add_(0.3)
    batch["discount"].zero_()
    fresh = network(action)
    learner_of(fresh, rule, rate=0.1, adam=False).update(batch, shuffle())
    only.update(batch, shuffle())
    torch.testing.assert_close(parameters_of(again.critics), parameters_of(fresh.critics))
    assert q is None or q.shape == (2, len(batch["reward"]), 2)


@every_case
def test_a_restored_learner_goes_on_bit_by_bit(case: str) -> None:
    rule, action = CASES[case]
    module, other = network(action), network(action)
    learner = learner_of(module, rule, adam=False)
    for update in range(3):
        learner.update(batch_for(module, update), shuffle(update))
    other.load_state_dict({name: x.clone() for name, x in module.state_dict().items()})
    restored = learner_of(other, rule, adam=False)
    restored.load_state_dict(learner.state_dict())
    for update in (3, 4):
        batch = batch_for(module, update)
        assert learner.update(batch, shuffle(update)).metrics == restored.update(batch, shuffle(update)).metrics
    assert torch.equal(parameters_of(module), parameters_of(other))
    with pytest.raises(CheckpointError, match="none of a critic learner"):
        restored.load_state_dict({})


@every_case
@settings(max_examples=5, deadline=None)
@given(st.integers(0, 1000))
def test_rows_that_do_not_count_have_no_say(case: str, seed: int) -> None:
    rule, action = CASES[case]
    module = network(action)
    before = parameters_of(module)
    batch = batch_for(module, seed)
    batch["weight"].zero_()
    batch["reward"].fill_(float("nan"))
    learner = learner_of(module, rule)
    assert learner.update(batch, shuffle()) == ({}, None)
    batch["weight"][0] = 1.0
    batch["reward"][0] = 1.0
    learned = learner.update(batch, shuffle())
    assert learned.priorities is not None
    assert torch.isfinite(learned.priorities).all()
    assert learned.priorities[1:].tolist() == [0.0] * (len(batch["reward"]) - 1)
    assert not torch.equal(parameters_of(module), before)


@every_case
def test_a_reward_without_bound_stops_training_before_it_spreads(case: str) -> None:
    rule, action = CASES[case]
    module = network(action)
    before = parameters_of(module)
    batch = batch_for(module, 0)
    batch["reward"][1] = float("inf")
    with pytest.raises(NonFiniteLossError):
        learner_of(module, rule).update(batch, shuffle())
    assert torch.equal(parameters_of(module), before)


def test_a_forbidden_choice_is_never_learned_and_leaves_finite_gradients() -> None:
    for rule in (SAC, IQL):
        module = network(CHOICES)
        batch = chain(module.spec, np.zeros(8))
        for prefix in ("", "next_"):
            batch[f"{prefix}action_mask"] = torch.tensor([[1, 0]] * 8, dtype=torch.uint8)
        metrics = learner_of(module, rule).update(batch, shuffle()).metrics
        assert all(np.isfinite(value) for value in metrics.values())
        assert metrics.get("entropy", 0.0) == pytest.approx(0, abs=1e-6)
        assert torch.isfinite(parameters_of(module)).all()


def test_the_temperature_rises_while_the_entropy_is_too_small_and_falls_while_it_is_too_large() -> None:
    for target_entropy, rises in ((10.0, True), (-10.0, False)):
        module = network(NUMBERS)
        learner = learner_of(module, SoftActorCritic(target_entropy, 0.0))
        for update in range(5):
            learner.update(batch_for(module, update), shuffle(update))
        assert (module.log_temperature.item() > 0) is rises


def test_a_delayed_policy_moves_at_each_second_step_alone() -> None:
    module = network(NUMBERS)
    learner = learner_of(module, TD3)
    moved = []
    for update in range(4):
        before = parameters_of(module.policy)
        learner.update(batch_for(module, update), shuffle(update))
        moved.append(not torch.equal(parameters_of(module.policy), before))
    assert moved == [True, False, True, False]
    with pytest.raises(ValueError, match="policy_every_steps is 2 with 2 workers; allowed is 1"):
        learner_of(module, TD3, workers=2)


def test_what_it_cannot_train_is_refused_with_what_is_allowed() -> None:
    with pytest.raises(ValueError, match="its action is Categorical; allowed is bounded real numbers"):
        learner_of(network(CHOICES), TD3)
    policy = build({"shape": [2]}, {"choices": 2})
    with pytest.raises(ValueError, match="Policy has no critics; describe them under critics"):
        learner_of(policy, SAC)  # type: ignore[arg-type]
