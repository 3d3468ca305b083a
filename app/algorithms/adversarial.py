"""Generative adversarial imitation (Ho and Ermon, 2016), https://arxiv.org/abs/1606.03476, algorithm 1.

A discriminator learns to tell an expert's moves from the policy's; the policy is paid for what looks like the expert's.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from app.algorithms.adam_state import adam_state, load_adam
from app.algorithms.batch_columns import Batch, BatchColumns, at, flat
from app.algorithms.both_rewards import BothRewards
from app.algorithms.contract import Learned, Learner, taken
from app.algorithms.descent import Descent, ReduceSum
from app.algorithms.minibatches import minibatches
from app.algorithms.stepper import GradientStepper, StepSettings
from app.errors import PluginError
from app.models.spec import ModelSpec
from app.plugins import load_plugin
from app.types import RowKind

RewardKind = Literal["paper", "log_odds"]
NETWORK, ADAM = "discriminator.", "discriminator_adam."
"""What the names of the discriminator and its optimizer begin with in a learner's state."""


class Expert(NamedTuple):
    """Moves of an expert; their rewards do not matter."""

    observation: list[Tensor]
    """By leaves, each [M, …]."""
    action: list[Tensor]


class Adversary(NamedTuple):
    """What a policy is measured by."""

    network: nn.Module
    """From observation and action, nested like the spec's, to the log-odds that the expert did so, [M]."""
    expert: Expert


@dataclass(frozen=True, slots=True)
class AdversarialSettings:
    """How the discriminator learns, and what it pays."""

    reward: RewardKind
    epochs: int
    minibatches: int
    """Optimizer steps of one epoch, the same on all workers."""
    learning_rate: float
    label_smoothing: float = 0.0
    """How far the labels lie from 0 and 1."""


def discriminator_loss(expert_logit: Tensor, own_logit: Tensor, smoothing: float = 0.0) -> Tensor:
    """Returns the cross-entropy of the log-odds, summed over moves of the expert and of the policy, a scalar.

    Args:
      expert_logit: Log-odds that moves of the expert are the expert's, [M].
      own_logit: The same of moves of the policy, [M].
      smoothing: The labels are 1 - smoothing and smoothing.
    """
    expert = softplus(-expert_logit) + smoothing * expert_logit
    own = softplus(own_logit) - smoothing * own_logit
    return expert.sum() + own.sum()


def imitation_reward(logit: Tensor, kind: RewardKind) -> Tensor:
    """Returns what moves pay, [M], of the log-odds that the expert did them.

    Args:
      logit: Log-odds, [M]; D is their logistic function.
      kind: ``paper`` pays -log(1 - D), and ``log_odds`` log D - log(1 - D) (Fu et al., 2018, arXiv:1710.11248).
    """
    return softplus(logit) if kind == "paper" else logit


def make_discriminator(factory: str, kwargs: Mapping[str, Any], spec: ModelSpec, seed: int) -> nn.Module:
    """Returns the network that a factory makes for a policy, its parameters drawn from ``seed``.

    Args:
      factory: Import path of a callable.
      kwargs: Its keyword arguments.
      spec: Of the policy, its first argument.
      seed: The same one on all workers.

    Raises:
      PluginError: There is no such callable, it takes other arguments, or returns no network.
    """
    make = load_plugin(factory)
    if not callable(make):
        raise PluginError(f"{factory!r} is not callable, it is a {type(make).__name__}")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        try:
            network = make(spec, **kwargs)
        except TypeError as error:
            raise PluginError(f"{factory!r} cannot be called with a ModelSpec and {dict(kwargs)}: {error}") from error
    if not isinstance(network, nn.Module):
        raise PluginError(f"{factory!r} returned a {type(network).__name__}; allowed is a torch module")
    return network


class Adversarial:
    """A learner that is paid by a discriminator in place of the game; see ``Learner``. Both are told apart."""

    def __init__(
        self,
        learner: Learner,
        spec: ModelSpec,
        adversary: Adversary,
        settings: AdversarialSettings,
        workers: int,
        reduce_sum: ReduceSum,
    ) -> None:
        """Makes a learner.

        Args:
          learner: Learns from trajectories, on the policy's own newest games.
          spec: Shapes of its network.
          adversary: The expert, and what tells the two apart; it stands alike on all workers, and learns from here on.
          settings: How the discriminator learns.
          workers: Number of workers.
          reduce_sum: Adds up over the workers.

        Raises:
          ValueError: The expert has no moves.
        """
        if not len(adversary.expert.action[0]):
            raise ValueError("GAIL imitates an expert, got none of its moves")
        self._learner = learner
        self._spec = spec
        self._columns = BatchColumns(spec)
        self._network, self._expert = adversary
        self._settings = settings
        self._workers = workers
        self._reduce_sum = reduce_sum
        self._adam = torch.optim.Adam(self._network.parameters(), settings.learning_rate)
        average = self._averaged if workers > 1 else None
        self._stepper = GradientStepper(self._network, self._adam, StepSettings(), average_gradients=average)
        self._told = BothRewards("imitation", reduce_sum)

    def update(self, batch: Mapping[str, Tensor], shuffle: torch.Generator) -> Learned:
        """Learns to tell the batch from the expert, and then from the batch by what that pays; see ``Learner``.

        Args:
          batch: Columns of ``app.replay.rows``, [N, …], or of ``app.replay.sequences``, [K, T, …].
          shuffle: Draws all that is random in the update.

        Raises:
          NonFiniteLossError: A loss or gradient is NaN or infinite; the step that would have spread it was not taken.
        """
        rows = flat(batch)
        self._move_to(rows["reward"].device)
        metrics = self._discriminate(rows, shuffle)
        given = self._paid(rows)
        metrics |= self._told.told(rows, given)
        learned = self._learner.update({**batch, "reward": given.reshape(batch["kind"].shape)}, shuffle)
        return learned._replace(metrics=learned.metrics | metrics) if learned.metrics else learned

    def state_dict(self) -> dict[str, Tensor]:
        """Returns the learner's state, the discriminator and its optimizer."""
        return self._learner.state_dict() | self._own_state()

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Goes on from a state; see ``Learner``."""
        own = {name: x for name, x in state.items() if name.startswith((NETWORK, ADAM))}
        fitting = taken(own, self._own_state(), "a discriminator")
        self._network.load_state_dict(_below(NETWORK, fitting))
        load_adam(self._adam, _below(ADAM, fitting))
        self._learner.load_state_dict({name: x for name, x in state.items() if name not in own})

    def _own_state(self) -> dict[str, Tensor]:
        network = {NETWORK + name: x.detach().cpu().clone() for name, x in self._network.state_dict().items()}
        return network | {ADAM + name: x for name, x in adam_state(self._adam).items()}

    def _discriminate(self, rows: Batch, shuffle: torch.Generator) -> dict[str, float]:
        """Takes the discriminator's optimizer steps, and returns what is told of them."""
        descent = Descent(self._stepper, self._workers, self._reduce_sum)
        for _ in range(self._settings.epochs):
            for part, size in minibatches(rows, self._settings.minibatches, shuffle, self._reduce_sum):
                descent.step(self._terms(rows, part, shuffle), size)
        found = descent.metrics()
        names = {
            "loss_total": "loss_discriminator",
            "expert": "expert_recognised",
            "own": "own_recognised",
            "grad_norm": "discriminator_grad_norm",
        }
        return {name: found[own] for own, name in names.items() if own in found}

    def _terms(self, rows: Batch, part: Tensor, shuffle: torch.Generator) -> dict[str, Tensor]:
        """Returns the sums of a minibatch: as many moves of the expert, drawn at random, as of the policy."""
        drawn = torch.randint(len(self._expert.action[0]), (len(part),), generator=shuffle).to(part.device)
        expert = self._logits(at(self._expert.observation, drawn), at(self._expert.action, drawn))
        observation, action = self._columns.leaves(rows, "observation"), self._columns.leaves(rows, "action")
        own = self._logits(at(observation, part), at(action, part))
        loss = discriminator_loss(expert, own, self._settings.label_smoothing)
        return {"total": loss, "expert": (expert > 0).float().sum(), "own": (own < 0).float().sum()}

    @torch.no_grad()
    def _paid(self, rows: Batch) -> Tensor:
        """Returns the rewards that are learned from, [N]; 0 in bootstrap rows."""
        steps = torch.nonzero(rows["kind"] == RowKind.STEP).squeeze(1)
        observation, action = self._columns.leaves(rows, "observation"), self._columns.leaves(rows, "action")
        logits = self._logits(at(observation, steps), at(action, steps))
        given = torch.zeros_like(rows["reward"])
        given[steps] = imitation_reward(logits, self._settings.reward).to(given)
        return given

    def _logits(self, observation: list[Tensor], action: list[Tensor]) -> Tensor:
        network = cast("Callable[[Any, Any], Tensor]", self._network)
        found = network(self._spec.inputs.unflatten(observation), self._spec.actions.unflatten(action))
        if found.shape != action[0].shape[:1]:
            got, allowed = list(found.shape), list(action[0].shape[:1])
            raise ValueError(f"the discriminator returned {got}; allowed is a number for each move, {allowed}")
        return found

    def _move_to(self, device: torch.device) -> None:
        """Brings discriminator and expert to where the batches are; the first batch tells."""
        if self._expert.action[0].device != device:
            self._network.to(device)
            load_adam(self._adam, adam_state(self._adam))  # Moments of a checkpoint stand where its network stood.
            self._expert = Expert(*([leaf.to(device) for leaf in part] for part in self._expert))

    def _averaged(self, gradients: list[Tensor]) -> None:
        """Replaces gradients by their mean over the workers."""
        sums = self._reduce_sum(torch.cat([x.flatten().cpu() for x in gradients])) / self._workers
        means = torch.split(sums, [x.numel() for x in gradients])
        for gradient, mean in zip(gradients, means, strict=True):
            gradient.copy_(mean.reshape(gradient.shape))


def _below(prefix: str, state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): x for name, x in state.items() if name.startswith(prefix)}
