"""Every algorithm that a config can name, each with a model that it can train, and trajectories to learn from."""

from dataclasses import dataclass, field
from typing import Annotated, Any, get_args, get_origin

import numpy as np
import torch
from torch import Tensor, nn

from app.algorithms.contract import Learned, Learner
from app.algorithms.stepper import Stepper, Still
from app.config.algorithms import Algorithm, CustomAlgorithm
from app.config.from_trajectories import FromTrajectories
from app.config.off_policy import FromTransitions
from app.models.module import spec_of
from app.models.networks.policy import build
from app.models.spec import ModelSpec
from app.replay.rows import empty_batch
from app.types import RowKind
from tests.plain_stepper import plain_stepper
from train.learning import learner_of

CHOICES: dict[str, Any] = {"choices": 3}
NUMBERS: dict[str, Any] = {"shape": [2], "low": -2, "high": 4}
INPUTS = 3
GAMMA = 0.9
CRITICS: dict[str, Any] = {"critics": {"count": 2, "hidden": [4]}, "std": "state"}
GRU: dict[str, Any] = {"kind": "gru", "units": 4}
SWITCHES = ("retrace_lambda", "conservative_coef", "upgo_coef", "value_lambda", "value_clip", "double")
"""Settings that change what is learned from."""
ROWS_MAX = 64
"""Of a batch; one minibatch holds it."""


@dataclass(frozen=True)
class Case:
    """One algorithm and its model."""

    kind: str
    action: dict[str, Any] = field(default_factory=lambda: CHOICES)
    model: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        """Returns its name among the tests."""
        action = "choices" if self.action is CHOICES else "numbers"
        more = [name for name in ("memory", *SWITCHES) if name in {**self.model, **self.settings}]
        returns = self.model.get("q", {}).get("returns", {})
        return " ".join([self.kind, action, *more, *([returns["kind"]] if returns else [])])

    @property
    def acts_by_choice(self) -> bool:
        """Returns whether its action has masks."""
        return self.action is CHOICES

    def algorithm(self, **changes: object) -> Any:
        """Returns the config of the algorithm."""
        settings = {"gamma": GAMMA, "minibatch_rows": ROWS_MAX, **self.settings, **changes}
        return CLASSES[self.kind].model_validate({"kind": self.kind, **settings})

    def network(self, seed: int = 0) -> nn.Module:
        """Returns an untrained network whose answers are no longer near 0."""
        torch.manual_seed(seed)
        encoder = {"kind": "mlp", "hidden": [4], "orthogonal": False}
        module = build({"shape": [INPUTS]}, self.action, encoder=encoder, head_gain=1.0, **self.model)
        with torch.no_grad():
            for parameter in module.parameters():
                if parameter.ndim == 1:
                    parameter.add_(torch.linspace(-0.3, 0.4, len(parameter)))
        return module

    def learner(self, module: nn.Module, rate: float = 0.1, **changes: object) -> Learner:
        """Returns a learner that takes plain gradient steps; none at all at rate 0."""
        stepper: Stepper = Still()
        if rate:
            stepper = plain_stepper(module, torch.optim.SGD(module.parameters(), rate), 1e9)
        return learner_of(self.algorithm(**changes), ROWS_MAX, module, spec_of(module), stepper, 1, lambda x: x)

    def learned(self, batch: dict[str, Tensor], **changes: object) -> tuple[Tensor, Learned]:
        """Returns the parameters after one update of a fresh network, and what was told of it."""
        module = self.network()
        learned = self.learner(module, **changes).update(batch, torch.Generator().manual_seed(0))
        return torch.cat([x.detach().flatten() for x in module.parameters()]), learned

    def rows(self, lengths: list[tuple[int, RowKind]], seed: int = 0) -> dict[str, Tensor]:
        """Returns trajectories of random steps one behind another, each with its bootstrap row."""
        return rows_of(spec_of(self.network()), lengths, seed)


def rows_of(spec: ModelSpec, lengths: list[tuple[int, RowKind]], seed: int = 0) -> dict[str, Tensor]:
    """Returns trajectories of random steps one behind another, for a model of one action."""
    rng = np.random.default_rng(seed)
    kind = np.concatenate([[RowKind.STEP] * steps + [end] for steps, end in lengths]).astype(np.int8)
    rows, step = empty_batch(spec, len(kind)), kind == RowKind.STEP
    rows["kind"], rows["weight"] = kind, step.astype(np.float32)
    rows["observation"] = rng.normal(size=rows["observation"].shape).astype(np.float32)
    if rows["action"].dtype.kind == "i":
        rows["action"] = rng.integers(0, CHOICES["choices"], len(kind))
    else:
        rows["action"] = rng.uniform(-1.9, 3.9, rows["action"].shape).astype(np.float32)
    rows["reward"] = (rng.normal(size=len(kind)) * step).astype(np.float32)
    rows["log_prob"] = (rng.uniform(-2.5, -0.2, len(kind)) * step).astype(np.float32)
    rows["episode"] = np.repeat(np.arange(len(lengths)), [steps + 1 for steps, _ in lengths])
    rows["tick"] = np.concatenate([np.arange(steps + 1) for steps, _ in lengths]).astype(np.int32)
    if "policy_target" in rows:
        drawn = rng.random(rows["policy_target"].shape)
        rows["policy_target"] = (drawn / drawn.sum(1, keepdims=True) * step[:, None]).astype(np.float32)
    for name in [name for name in rows if name.startswith("state")]:
        rows[name] = rng.normal(size=rows[name].shape).astype(np.float32)
    return {name: torch.from_numpy(np.ascontiguousarray(column)) for name, column in rows.items()}


def _classes() -> dict[str, Any]:
    """Returns the config class of each kind, out of the union that a config's ``algorithm`` is."""
    (union, *_) = get_args(Algorithm)
    members = [get_args(one)[0] if get_origin(one) is Annotated else one for one in get_args(union)]
    return {member.model_fields["kind"].default: member for member in members}


CLASSES = _classes()
FROM_TRAJECTORIES = [kind for kind, config in CLASSES.items() if issubclass(config, FromTrajectories)]
FROM_TRANSITIONS = [kind for kind, config in CLASSES.items() if issubclass(config, FromTransitions)]
MODELS: dict[str, dict[str, Any]] = {"alpha_zero": {"policy_target": True}, "trpo": {"value": {}}}
SETTINGS: dict[str, dict[str, Any]] = {
    "bc": {"value_coef": 0.5},
    "td3": {"target_noise": 0.0},
    "gail": {"expert": "demos"},
}
"""So that all of them judge what a row was worth, by nothing that is drawn. Of GAIL it is the learner that is paid."""
BY_NUMBERS = ("td3", "ddpg")
BY_BOTH = ("sac", "iql")
OF_VALUES = ("dqn", "cql")

SWITCHED = [
    Case("ppo", CHOICES, {}, {"upgo_coef": 1.0, "value_lambda": 0.8}),
    Case("impala", CHOICES, {}, {"upgo_coef": 1.0, "value_lambda": 0.8}),
    Case("appo", CHOICES, {}, {"upgo_coef": 0.5, "value_clip": 0.1, "dual_clip": 3.0}),
]
POLICIES = [
    *(Case(kind, CHOICES, MODELS.get(kind, {}), SETTINGS.get(kind, {})) for kind in FROM_TRAJECTORIES),
    *SWITCHED,
]
POLICIES_OF_NUMBERS = [
    Case(kind, NUMBERS, MODELS.get(kind, {}), SETTINGS.get(kind, {}))
    for kind in FROM_TRAJECTORIES
    if "policy_target" not in MODELS.get(kind, {})
]
RECURRENT = [Case(case.kind, CHOICES, {**case.model, "memory": GRU}, case.settings) for case in POLICIES]
VALUES = [
    *(Case(kind, CHOICES, {"q": {}}) for kind in OF_VALUES),
    Case("dqn", CHOICES, {"q": {"dueling": True}}, {"double": False}),
]
DISTRIBUTED = [
    Case("dqn", CHOICES, {"q": {"returns": {"kind": "categorical", "atoms": 11, "low": -3.0, "high": 3.0}}}),
    Case("dqn", CHOICES, {"q": {"returns": {"kind": "quantile", "atoms": 5}}}),
]
"""Their targets are distributions, so that what is behind a time limit is no number that a death could pay."""
CONSERVATIVE = {"conservative_coef": 1.0}
CRITICS_OF_CHOICES = [*(Case(kind, CHOICES, CRITICS) for kind in BY_BOTH), Case("sac", CHOICES, CRITICS, CONSERVATIVE)]
CRITICS_OF_NUMBERS = [Case(kind, NUMBERS, CRITICS, SETTINGS.get(kind, {})) for kind in (*BY_NUMBERS, *BY_BOTH)]
CRITICS_OF_NUMBERS.append(Case("sac", NUMBERS, CRITICS, CONSERVATIVE))
TRACED = [Case("sac", action, CRITICS, {"retrace_lambda": 0.9}) for action in (CHOICES, NUMBERS)]

OF_TRANSITIONS = [*VALUES, *CRITICS_OF_CHOICES, *CRITICS_OF_NUMBERS]
WITHOUT_MEMORY = [*POLICIES, *POLICIES_OF_NUMBERS, *OF_TRANSITIONS, *TRACED]
EVERY = [*WITHOUT_MEMORY, *DISTRIBUTED, *RECURRENT]
NOT_HERE = {CustomAlgorithm.model_fields["kind"].default}
"""What somebody else writes."""
