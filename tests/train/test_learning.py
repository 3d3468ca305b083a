"""Each algorithm of the config has a learner that learns from what its buffer hands out."""

from typing import Any, get_args

import numpy as np
import pytest
import torch
from pydantic import TypeAdapter

from app.algorithms.critic_learner import CriticLearner
from app.algorithms.learner import PolicyLearner
from app.algorithms.q_learner import QLearner
from app.algorithms.trpo import TrpoLearner
from app.config.algorithms import Algorithm, AlphaZero, TrajectoryAlgorithm
from app.config.off_policy import TransitionAlgorithm
from app.model_check import untrainable
from app.models.module import spec_of
from app.models.networks.policy import build
from app.replay.n_step import n_step
from app.replay.rows import empty_batch
from app.types import RowKind, Rows
from tests.plain_stepper import plain_stepper
from train.learning import learner_of

NUMBERS = {"shape": [2], "low": -1, "high": 1}
MODELS: dict[str, dict[str, Any]] = {
    **{key: {"action": {"choices": 2}, "q": {}} for key in ("dqn", "cql")},
    **{key: {"action": {"choices": 2}, "critics": {"hidden": [4]}} for key in ("sac", "iql")},
    **{key: {"action": NUMBERS, "critics": {"hidden": [4]}} for key in ("td3", "ddpg")},
}
TARGETED = {"action": {"choices": 2}, "policy_target": True}
APART = {"action": {"choices": 2}, "value": {}}
KINDS = ["trpo"] + [
    each.model_fields["kind"].default for each in get_args(TrajectoryAlgorithm) + get_args(TransitionAlgorithm)
]
LEARNERS = {
    "trpo": TrpoLearner,
    **dict.fromkeys(("dqn", "cql"), QLearner),
    **dict.fromkeys(("sac", "iql", "td3", "ddpg"), CriticLearner),
}
NEEDED = {"gail": {"expert": "demos"}}


def module_for(kind: str) -> torch.nn.Module:
    torch.manual_seed(0)
    other = {"alpha_zero": TARGETED, "trpo": APART}.get(kind, {"action": {"choices": 2}})
    wanted = MODELS.get(kind, other)
    return build({"shape": [3]}, encoder={"kind": "mlp", "hidden": [4]}, **wanted)


def rows_for(module: torch.nn.Module) -> Rows:
    rng = np.random.default_rng(0)
    rows = empty_batch(spec_of(module), 24)
    step = np.arange(24) % 6 < 5
    rows["kind"] = np.where(step, RowKind.STEP, RowKind.TERMINATED).astype(np.int8)
    rows["weight"] = step.astype(np.float32)
    rows["observation"] = rng.normal(size=(24, 3)).astype(np.float32)
    rows["reward"] = rng.normal(size=24).astype(np.float32)
    return rows


@pytest.mark.parametrize("kind", KINDS)
def test_an_algorithm_learns_from_what_its_buffer_hands_out(kind: str) -> None:
    algorithm: Algorithm = TypeAdapter(Algorithm).validate_python(
        {"kind": kind, "minibatch_rows": 5} | NEEDED.get(kind, {})
    )
    module = module_for(kind)
    assert untrainable(algorithm, module) is None
    stepper = plain_stepper(module, torch.optim.SGD(module.parameters(), 0.01), 10.0)
    learner = learner_of(algorithm, 20, module, spec_of(module), stepper, 1, lambda x: x)
    assert type(learner) is LEARNERS.get(kind, PolicyLearner)
    rows = rows_for(module) if kind not in MODELS else n_step(rows_for(module), 1, 0.9)
    batch = {name: torch.from_numpy(column) for name, column in rows.items()}
    before = [x.detach().clone() for x in module.parameters()]
    learned = learner.update(batch, torch.Generator().manual_seed(0))
    assert learned.metrics["optimizer_steps"] % 4 == 0
    assert all(np.isfinite(value) for value in learned.metrics.values())
    assert (learned.priorities is not None) == (kind in MODELS)
    assert any(not torch.equal(x, y) for x, y in zip(before, module.parameters(), strict=True))
    learner.load_state_dict(learner.state_dict())


def test_a_model_whose_rows_carry_no_target_cannot_be_trained_by_alpha_zero() -> None:
    problem = untrainable(AlphaZero(), module_for("ppo"))
    assert problem is not None
    assert "set policy_target: true" in problem
