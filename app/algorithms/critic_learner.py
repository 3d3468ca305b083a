"""Learning of a policy and its critics from transitions; SAC, TD3, DDPG and IQL are rules for one optimizer step."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import torch
from torch import Tensor, nn

from app.algorithms.batch_columns import Batch, flat
from app.algorithms.contract import Learned, taken
from app.algorithms.critic_networks import CriticNetworks, Part
from app.algorithms.descent import Descent, ReduceSum
from app.algorithms.minibatches import minibatches
from app.algorithms.normalising import unwrapped
from app.algorithms.single_steps import are_trajectories, single_steps
from app.algorithms.stepper import Stepper
from app.algorithms.target_network import TargetSettings
from app.models.critics import critics_problem
from app.models.spec import ModelSpec
from app.types import RowKind


class Judged(NamedTuple):
    """What one optimizer step minimises."""

    terms: dict[str, Tensor]
    """Sums over the rows by name; ``total`` is what is minimised."""
    error: Tensor
    """Targets minus values, [B], the mean over the critics: what priorities are made of."""


class Rule(Protocol):
    """The loss of one algorithm."""

    @property
    def numbers_alone(self) -> bool:
        """Whether it is for real numbers alone."""

    @property
    def policy_every_steps(self) -> int:
        """Optimizer steps for one of the policy."""

    def judge(self, networks: CriticNetworks, part: Part, step: int, draw: torch.Generator) -> Judged:
        """Returns the loss of some transitions.

        Args:
          networks: Policy, critics and their slow copies.
          part: The transitions.
          step: Optimizer steps before this one.
          draw: Draws all that is random.
        """


class Trace(Protocol):
    """Takes the critics' targets from whole trajectories."""

    def targets(self, networks: CriticNetworks, steps: Batch, cut_t: Tensor, draw: torch.Generator) -> Tensor:
        """Returns them, [N].

        Args:
          networks: Policy, critics and their slow copies.
          steps: Single steps in time order, [N, …].
          cut_t: 1 where the next step belongs to another trajectory, [N].
          draw: Draws all that is random.
        """


@dataclass(frozen=True, slots=True)
class CriticSettings:
    """How a batch is learned from."""

    rule: Rule
    """What is minimised."""
    target: TargetSettings
    """How the slow copies follow."""
    minibatches: int
    """Optimizer steps of an update, the same on all workers."""
    gamma: float = 0.99
    """Discount per tick, where batches are trajectories; transitions bring their own."""
    trace: Trace | None = None
    """Takes targets from trajectories, which batches then are; None: targets look one transition ahead."""


class CriticLearner:
    """Learns by one rule from transitions, whoever played them."""

    def __init__(
        self,
        module: nn.Module,
        spec: ModelSpec,
        stepper: Stepper,
        settings: CriticSettings,
        workers: int,
        reduce_sum: ReduceSum,
    ) -> None:
        """Makes a learner.

        Args:
          module: See ``Criticised``; where there are several workers, one that averages gradients over them.
          spec: The network's shapes.
          stepper: Changes the network's parameters.
          settings: How a batch is learned from.
          workers: Number of workers.
          reduce_sum: Adds up over the workers.

        Raises:
          ValueError: It cannot learn such a model.
        """
        rule = settings.rule
        if problem := critics_problem(unwrapped(module), spec, numbers_alone=rule.numbers_alone):
            raise ValueError(f"a critic learner cannot train the model: {problem}")
        if workers > 1 and rule.policy_every_steps > 1:  # They would wait for gradients that one step has not.
            raise ValueError(
                f"policy_every_steps is {rule.policy_every_steps} with {workers} workers; allowed is 1 there"
            )
        self._networks = CriticNetworks(module, spec, settings.target)
        self._stepper = stepper
        self._settings = settings
        self._workers = workers
        self._reduce_sum = reduce_sum
        self._updates = self._steps = 0

    def update(self, batch: Mapping[str, Tensor], shuffle: torch.Generator) -> Learned:
        """Learns from a batch; see ``Learner``. Priorities are the sizes of the errors, 0 for rows that do not count.

        Args:
          batch: Columns of ``app.replay.n_step``, [N, …]; ``weight`` is the importance weight, 0 where a row does not
            count. Or whole trajectories, columns of ``app.replay.rows``, or of ``app.replay.sequences``, [K, T, …]:
            then their single steps, without priorities.
          shuffle: Draws the minibatches, and actions and noise.

        Raises:
          ValueError: Targets are taken from trajectories, and these are transitions.
          NonFiniteLossError: A loss or gradient is NaN or infinite; the step that would have spread it was not taken.
        """
        was_cut = not are_trajectories(batch)
        batch = self._transitions(batch) if was_cut else self._traced(batch, shuffle)
        descent = Descent(self._stepper, self._workers, self._reduce_sum)
        priorities = torch.zeros_like(batch["weight"])
        for rows, size in minibatches(batch, self._settings.minibatches, shuffle, self._reduce_sum):
            terms, error = self._settings.rule.judge(
                self._networks, self._networks.part(batch, rows), self._steps, shuffle
            )
            descent.step(terms, size)
            self._steps += 1
            self._networks.target.follow_step()
            priorities[rows] = error.abs()
        metrics = descent.metrics()
        if not metrics:
            return Learned({})
        self._updates += 1
        self._networks.target.follow_update(self._updates)
        return Learned(metrics, priorities.cpu() if was_cut else None)

    def _transitions(self, batch: Batch) -> Batch:
        if self._settings.trace is not None:
            raise ValueError("targets are taken from trajectories, got transitions")
        return batch

    def _traced(self, batch: Batch, draw: torch.Generator) -> Batch:
        """Returns the single steps of trajectories, with their targets where these are traced."""
        rows = flat(batch)
        steps = single_steps(rows, self._settings.gamma)
        if self._settings.trace is None:
            return steps
        after = torch.nonzero(rows["kind"] == RowKind.STEP).squeeze(1) + 1
        cut_t = (rows["kind"][after] != RowKind.STEP).to(rows["reward"].dtype)
        return steps | {"target": self._settings.trace.targets(self._networks, steps, cut_t, draw)}

    def state_dict(self) -> dict[str, Tensor]:
        """Returns the slow copies, and the updates and optimizer steps done."""
        counts = {"updates": torch.tensor(self._updates), "steps": torch.tensor(self._steps)}
        return self._networks.target.state_dict() | counts

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Goes on from a state; see ``Learner``."""
        fitting = taken(state, self.state_dict(), "a critic learner")
        self._networks.target.load_state_dict(fitting)
        self._updates, self._steps = int(fitting["updates"]), int(fitting["steps"])
