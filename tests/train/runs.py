"""Training runs as the loop makes them, on fixed batches and small networks, without Ray."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from app.algorithms.adversarial import Adversary, Expert, make_discriminator
from app.algorithms.contract import Learner
from app.algorithms.estimators import Gae
from app.algorithms.learner import PolicyLearner, PolicySettings, ReduceSum
from app.algorithms.ppo import ClippedPolicy
from app.algorithms.stepper import Stepper
from app.config.algorithms import Gail
from app.config.training import TrainerConfig
from app.config.trust_region import Trpo
from app.models.module import hash_of, spec_of
from app.models.spec import ModelSpec
from app.seeding import derive
from app.types import RowKind
from tests.small_policy import SmallPolicy, small_policy
from train.checkpoint import Checkpoints, LearnerState, load_state
from train.learners import Learners
from train.learning import make_learner
from train.random_state import seed_generators
from train.resume import Progress, go_on, progress_of
from train.strategies.build import wrap
from train.strategies.processes import Processes
from train.strategies.strategy import Place

SETTINGS = PolicySettings(Gae(0.99, 0.95), ClippedPolicy(0.2, 0.5, 0.01), True, epochs=2, minibatches=3)
STEPS = 6
"""Minibatches of one update."""


def trainer(**settings: object) -> TrainerConfig:
    return TrainerConfig.model_validate({"model": "main", "inputs": [{"buffer": "rollouts"}], **settings})


class Run:
    """Network, optimizer, learner and the number of updates of one worker."""

    def __init__(
        self,
        config: TrainerConfig | None = None,
        seed: int = 0,
        path: Path | None = None,
        place: tuple[int, int] = (0, 1),
    ) -> None:
        """Begins, or goes on from a checkpoint, as worker ``place[0]`` of ``place[1]``."""
        self.module: SmallPolicy = small_policy(seed)
        self.hash = hash_of(self.module)
        self.rank, workers = place
        begun = None if path is None else load_state(path)
        if begun is not None:
            self.module.load_state_dict(begun.progress.trained.model)
        self.processes = Processes(self.rank, workers)
        seed_generators(derive(seed, self.rank))
        at = Place(self.rank, workers, reduce_sum=self.processes.reduce_sum)
        self._input = (config or trainer()).inputs[0]
        self.trained = wrap(config or trainer(), self.module, at)
        self.learners = Learners([self.trained.learner(self._learner)])
        self.updates = 0 if begun is None else begun.updates
        if begun is not None:
            go_on(begun.progress, self.trained, self.learners, self.rank)

    def train(self, updates: int) -> "Run":
        for _ in range(updates):
            shuffle = torch.Generator().manual_seed(derive(7, self.rank, self.updates))
            assert self.learners[0].update(batch(100 * self.updates + self.rank), shuffle)
            torch.rand(1)  # Something else may draw from the global generator, too.
            self.updates += 1
        return self

    def save(self, checkpoints: Checkpoints) -> Path | None:
        """Writes a checkpoint; the path on rank 0."""
        progress = self.progress()
        return None if progress is None else checkpoints.save(self.state(progress))

    def state(self, progress: Progress) -> LearnerState:
        return LearnerState(progress, self.updates, 1, self.hash, "run 1")

    def progress(self) -> Progress | None:
        return progress_of(self.trained, self.learners, self.processes)

    def bits(self) -> str:
        """Returns a digest of all that a checkpoint holds, on rank 0; empty on the others."""
        progress = self.progress()
        if progress is None:
            return ""
        assert progress.trained.optimizer
        return digest((progress.trained, progress.learner, progress.random))

    def _learner(self, module: torch.nn.Module, stepper: Stepper, workers: int, reduce_sum: ReduceSum) -> Learner:
        spec, algorithm = spec_of(self.module), self._input.algorithm
        if isinstance(algorithm, Trpo | Gail):
            apart = adversary(spec) if isinstance(algorithm, Gail) else None
            return make_learner(self._input, spec, module, stepper, workers, reduce_sum, adversary=apart)
        return PolicyLearner(module, spec, stepper, SETTINGS, workers, reduce_sum)


def batch(number: int, rows: int = 40) -> dict[str, Tensor]:
    """Returns the batch of that number, the same in each process."""
    source = torch.Generator().manual_seed(number)
    kind = torch.zeros(rows, dtype=torch.int8)
    ends = [RowKind.FULL, RowKind.TERMINATED, RowKind.TRUNCATED, RowKind.FULL]
    kind[9::10] = torch.tensor([ends[i % 4] for i in range(len(kind[9::10]))], dtype=torch.int8)
    return {
        "observation": torch.randn(rows, 2, generator=source),
        "action": torch.randint(0, 2, (rows,), generator=source),
        "action_mask": torch.ones(rows, 2, dtype=torch.uint8),
        "reward": torch.randn(rows, generator=source),
        "log_prob": torch.full((rows,), -0.7),
        "kind": kind,
        "weight": (kind == RowKind.STEP).float(),
        "episode": torch.arange(rows) // 10 + number * rows,
        "tick": torch.arange(rows) % 10,
    }


def adversary(spec: ModelSpec) -> Adversary:
    """Returns an expert and an untrained discriminator, the same in each process."""
    source = torch.Generator().manual_seed(11)
    states, actions = torch.randn(50, 2, generator=source), torch.randint(0, 2, (50,), generator=source)
    network = make_discriminator("app.models.networks.discriminator:build", {"hidden": [8]}, spec, seed=3)
    return Adversary(network, Expert([states], [actions]))


def digest(tree: Any) -> str:
    """Returns a hash of nested values, of each tensor's bits."""
    parts = hashlib.sha256()
    for leaf in leaves(tree):
        parts.update(leaf)
    return parts.hexdigest()


def leaves(tree: Any) -> Iterator[bytes]:
    if isinstance(tree, Tensor):
        yield str((tree.dtype, tuple(tree.shape))).encode() + tree.detach().cpu().numpy().tobytes()
    elif isinstance(tree, dict):
        for key in sorted(tree, key=str):
            yield str(key).encode()
            yield from leaves(tree[key])
    elif isinstance(tree, list | tuple):
        for item in tree:
            yield from leaves(item)
    elif hasattr(tree, "__dataclass_fields__"):
        yield from leaves({name: getattr(tree, name) for name in tree.__dataclass_fields__})
    else:
        yield repr(tree).encode()
