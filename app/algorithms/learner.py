"""One update of a policy on flat rows, the same on one worker and on many."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

import torch
from torch import Tensor, nn

from app.algorithms.contract import Learned, taken
from app.algorithms.estimators import Estimator, Played
from app.algorithms.stepper import Stepper
from app.algorithms.worth import PolicyLoss, Worth
from app.errors import NonFiniteLossError
from app.models.columns import mask_columns, nested_parts
from app.models.distributions.action import log_prob, log_prob_and_entropy
from app.models.module import call
from app.models.spec import ModelSpec

ReduceSum = Callable[[Tensor], Tensor]
"""Adds a tensor up over all workers; the identity where there is but one."""


LOSSES: Final = ("total", "policy", "value")
"""Terms whose metrics are called ``loss_…``; others go by their own name."""


@dataclass(frozen=True, slots=True)
class PolicySettings:
    """How a batch is learned from."""

    estimator: Estimator
    """What the rows were worth."""
    loss: PolicyLoss
    """What is minimised."""
    normalise: bool
    """Whether advantages are brought to mean 0 and deviation 1, over the batches of all workers."""
    epochs: int
    minibatches: int
    """Optimizer steps of one epoch, the same on all workers."""


def policy_problem(spec: ModelSpec) -> str | None:
    """Returns why ``PolicyLearner`` cannot train a model; None where it can."""
    if not spec.is_policy:
        return "it is no policy: its spec has outputs and no action"
    if len(spec.states):
        paths = ", ".join(spec.states.columns("state"))
        return f"it carries a state ({paths}), got a recurrent model, allowed is one whose ticks stand alone"
    return None


class Rows(NamedTuple):
    """The rows that count, and what they were worth."""

    observation: list[Tensor]
    """By leaves, each [N, …]."""
    action: list[Tensor]
    """By leaves, each [N, …]."""
    mask: list[Tensor | None]
    """By leaves of the action, each bool [N, choices]; None where there are no choices."""
    worth: Worth

    def at(self, rows: Tensor) -> "Rows":
        """Returns these rows alone."""
        return Rows(
            [leaf[rows] for leaf in self.observation],
            [leaf[rows] for leaf in self.action],
            [None if leaf is None else leaf[rows] for leaf in self.mask],
            Worth(*(column[rows] for column in self.worth)),
        )


class PolicyLearner:
    """Learns from a player's own games: what they were worth, and then some optimizer steps."""

    def __init__(
        self,
        module: nn.Module,
        spec: ModelSpec,
        stepper: Stepper,
        settings: PolicySettings,
        workers: int,
        reduce_sum: ReduceSum,
    ) -> None:
        """Makes a learner.

        Args:
          module: The network; where there are several workers, one that averages gradients over them.
          spec: The network's shapes.
          stepper: Changes the network's parameters.
          settings: How a batch is learned from.
          workers: Number of workers.
          reduce_sum: Adds up over the workers.

        Raises:
          ValueError: It cannot learn such a model.
        """
        if problem := policy_problem(spec):
            raise ValueError(f"a policy learner cannot train the model: {problem}")
        self._spec = spec
        self._columns = {name: part.columns(name) for name, part in nested_parts(spec).items()}
        self._masked = mask_columns(spec)
        self._module = module
        self._stepper = stepper
        self._settings = settings
        self._workers = workers
        self._reduce_sum = reduce_sum

    def update(self, batch: Mapping[str, Tensor], shuffle: torch.Generator) -> Learned:
        """Learns from a batch; see ``Learner``.

        Values are recomputed with the present network; the log-probability stored with each row is the ratio's base.

        Args:
          batch: Columns of ``app.replay.rows``, [N, …]; rows of weight 0 are not learned from.
          shuffle: Draws the minibatches.

        Raises:
          NonFiniteLossError: A loss or gradient is NaN or infinite; the step that would have spread it was not taken.
        """
        rows, explained = self._rows(batch)
        sums: dict[str, Tensor] = {}
        norms: list[float] = []
        steps = 0
        for _ in range(self._settings.epochs):
            chunks = self._chunks(len(rows.worth.weight), shuffle)
            sizes = self._reduce_sum(torch.tensor([float(len(chunk)) for chunk in chunks]))
            for chunk, size in zip(chunks, sizes.tolist(), strict=True):
                if size == 0:
                    continue  # On all workers alike: the size is that of all of them.
                loss, norm = self._step(rows, chunk, size)
                for name, part in loss.items():
                    sums[name] = sums.get(name, torch.zeros(())) + part.detach().cpu() / size
                steps += 1
                if norm is not None:
                    norms.append(norm)
        if steps == 0:
            return Learned({})
        means = (self._reduce_sum(torch.stack(list(sums.values()))) / steps).tolist()
        return Learned(
            {_metric(name): mean for name, mean in zip(sums, means, strict=True)}
            | {
                "grad_norm": sum(norms) / len(norms) if norms else 0.0,
                "explained_variance": explained,
                "optimizer_steps": float(len(norms)),
            }
        )

    def state_dict(self) -> dict[str, Tensor]:
        """Returns nothing: all that the next update depends on is in the network and its optimizer."""
        return {}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Takes nothing; see ``Learner``."""
        taken(state, {}, "a policy learner")

    def _rows(self, batch: Mapping[str, Tensor]) -> tuple[Rows, float]:
        """Returns the rows that count with normalised advantages, and how much of the returns the value explains."""
        with torch.no_grad():
            *dist_inputs, value = self._forward(self._leaves(batch, "observation"))
            log_ratio = self._log_ratio(batch, dist_inputs) if self._settings.estimator.wants_log_ratio else None
        value_cpu = value.float().cpu()
        estimate = self._settings.estimator(Played(batch["reward"].cpu(), batch["kind"].cpu(), value_cpu, log_ratio))
        counted = torch.nonzero(batch["weight"].cpu() > 0).squeeze(1)
        advantage, target = estimate.advantage[counted], estimate.target_value[counted]
        # In float64: in float32 nothing would be left of a small spread around a large mean.
        a, t, error = advantage.double(), target.double(), (target - value_cpu[counted]).double()
        moments = torch.stack([torch.ones_like(a), a, a.square(), t, t.square(), error.square()]).sum(1)
        count, mean, square, target_mean, target_square, unexplained = _means(self._reduce_sum(moments))
        variance = max(target_square - target_mean**2, 0.0)
        explained = 1 - unexplained / variance if count and variance > 0 else 0.0
        if self._settings.normalise:
            advantage = (advantage - mean) / (math.sqrt(max(square - mean**2, 0.0)) + 1e-8)
        device = batch["reward"].device
        counted = counted.to(device)
        worth = Worth(
            behaviour_log_prob=batch["log_prob"][counted],
            advantage=advantage.to(device),
            target_value=target.to(device),
            weight=batch["weight"][counted],
        )
        observation, action = ([leaf[counted] for leaf in self._leaves(batch, n)] for n in ("observation", "action"))
        masks = [None if leaf is None else leaf[counted] for leaf in self._masks(batch)]
        return Rows(observation, action, masks, worth), explained

    def _log_ratio(self, batch: Mapping[str, Tensor], dist_inputs: list[Tensor]) -> Tensor:
        """Returns the log-ratio of the present to the behaviour probability of each action, on the CPU, [N]."""
        taken = self._leaves(batch, "action")
        present = log_prob(self._spec.actions, dist_inputs, taken, self._masks(batch))
        return (present - batch["log_prob"]).float().cpu()

    def _leaves(self, batch: Mapping[str, Tensor], part: str) -> list[Tensor]:
        return [batch[name] for name in self._columns[part]]

    def _masks(self, batch: Mapping[str, Tensor]) -> list[Tensor | None]:
        return [batch[name] > 0 if name in self._masked else None for name in self._columns["action_mask"]]

    def _forward(self, observation: list[Tensor]) -> list[Tensor]:
        """Returns the inputs of the action's distribution by leaves, and the value behind them."""
        return call(self._module, self._spec, observation, [])[0]

    def _chunks(self, rows: int, shuffle: torch.Generator) -> list[Tensor]:
        """Splits a permutation of the rows into as many minibatches as every worker makes; some may be empty."""
        return list(torch.randperm(rows, generator=shuffle).tensor_split(self._settings.minibatches))

    def _step(self, rows: Rows, chunk: Tensor, size: float) -> tuple[dict[str, Tensor], float | None]:
        """Takes one optimizer step on a minibatch of ``size`` rows over all workers."""
        part = rows.at(chunk.to(rows.worth.weight.device))
        *dist_inputs, value = self._forward(part.observation)
        taken, entropy = log_prob_and_entropy(self._spec.actions, dist_inputs, part.action, part.mask)
        terms = self._settings.loss(taken, entropy, value, part.worth)._asdict()
        norm = self._stepper.step(terms["total"] * self._workers / size)
        if norm is not None and not math.isfinite(norm):
            raise NonFiniteLossError(_diagnosis(terms, norm))
        return terms, norm


def _metric(term: str) -> str:
    return f"loss_{term}" if term in LOSSES else term


def _means(sums: Tensor) -> list[float]:
    count, *rest = sums.tolist()
    return [count, *(x / count if count else 0.0 for x in rest)]


def _diagnosis(terms: Mapping[str, Tensor], norm: float) -> str:
    sums = ", ".join(f"{name} {value.item():g}" for name, value in terms.items())
    return (
        f"the gradient norm is {norm:g} (sums over the minibatch: {sums}); the weights before this step are good. "
        "Look for rewards or observations without bound, or lower trainers.<name>.optimizer.learning_rate"
    )
