"""What the rows of a batch were worth, over the batches of all workers."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from app.algorithms.descent import ReduceSum
from app.algorithms.estimators import Estimator, Played
from app.algorithms.normalising import value_scale
from app.algorithms.policy_batch import Known, PolicyBatch
from app.algorithms.value_heads import Heads, columns, told, weighted
from app.algorithms.worth import Worth

TINY = 1e-8
"""Keeps advantages that do not differ from being blown up."""


@dataclass(frozen=True, slots=True)
class AppraisalSettings:
    """How rows are judged."""

    estimator: Estimator
    """What the rows were worth."""
    normalise: bool
    """Whether advantages are brought to mean 0 and deviation 1, over the batches of all workers."""
    running_scale: float | None = None
    """Share of each batch in the running mean square that advantages are divided by the root of; None divides by
    nothing."""
    heads: Heads = ()
    """Named rewards, whose values and targets are [N, heads]; none where there is one reward."""


class Appraised(NamedTuple):
    """What a loss learns from, and what is told of it."""

    worth: Worth
    """Values, their targets and advantages are divided by ``value_unit``."""
    value_unit: Tensor
    """What the network's values are divided by, one number or [heads]; 1 where they have no scale of their own."""
    metrics: dict[str, float]


class Appraisal:
    """Judges batches, one after another."""

    def __init__(self, module: nn.Module, settings: AppraisalSettings, reduce_sum: ReduceSum) -> None:
        """Begins without a running scale.

        Args:
          module: The network, whose value may have a scale of its own.
          settings: How rows are judged.
          reduce_sum: Adds up over the workers.
        """
        self._module = module
        self._settings = settings
        self._reduce_sum = reduce_sum
        self._mean_square = torch.zeros((), dtype=torch.float64)
        """Running mean square of the advantages; 0 before the first batch."""

    def judge(self, played: PolicyBatch) -> Appraised:
        """Returns what the rows were worth, and how much of the returns the value explains."""
        batch, known = played.columns, played.known()
        value, weight = known.value.float().cpu(), batch["weight"].cpu()
        log_ratio = _log_ratio(played, known) if self._settings.estimator.wants_log_ratio else None
        estimate = self._settings.estimator(Played(batch["reward"].cpu(), batch["kind"].cpu(), value, log_ratio))
        heads = self._settings.heads
        deviation = self._deviation(estimate.target_value, weight)
        unit = torch.ones(len(heads) or 1) if deviation is None else deviation
        of_values = unit if heads else unit[0]
        advantage = weighted(estimate.advantage, heads) / self._advantage_unit(deviation)
        target, value = estimate.target_value / of_values, value / of_values
        advantage, explained = self._scaled(advantage, target, value, weight > 0)
        metrics = told("explained_variance", explained, heads)
        if deviation is not None:
            metrics |= told("value_deviation", deviation, heads)
        device = batch["reward"].device
        advantage, target, value, of_values = (x.to(device) for x in (advantage, target, value, of_values))
        return Appraised(Worth(batch["log_prob"], advantage, target, batch["weight"], value), of_values, metrics)

    def state_dict(self) -> dict[str, Tensor]:
        """Returns the running scale of advantages, where there is one."""
        return {} if self._settings.running_scale is None else {"advantage_mean_square": self._mean_square.clone()}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Takes what ``state_dict`` returned, out of a learner's whole state."""
        self._mean_square = state.get("advantage_mean_square", self._mean_square).clone()

    def _deviation(self, target: Tensor, weight: Tensor) -> Tensor | None:
        """Shows the returns to what scales the value and returns their deviation, [heads]; None where nothing does."""
        scale = value_scale(self._module)
        if scale is None:
            return None
        scale.observe(self._reduce_sum(scale.moments(target, weight)))
        return scale.deviation

    def _advantage_unit(self, deviation: Tensor | None) -> float:
        """Returns what advantages are divided by: the largest deviation that their weighted sum may have, or 1."""
        if deviation is None:
            return 1.0
        weights = [abs(one.weight) for one in self._settings.heads] or [1.0]
        return float(sum(weight * one for weight, one in zip(weights, deviation.tolist(), strict=True)))

    def _scaled(self, advantage: Tensor, target: Tensor, value: Tensor, counted: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the advantages at their wanted scale, and how much of the returns each value explains, [heads]."""
        # In float64: in float32 nothing would be left of a small spread around a large mean.
        a, t, v = advantage[counted].double(), *(columns(x[counted]).double() for x in (target, value))
        wanted = [torch.ones_like(a), a, a.square(), *t.T, *t.square().T, *(t - v).square().T]
        count, *means = _means(self._reduce_sum(torch.stack(wanted).sum(1)))
        mean, square = means[:2]
        target_mean, target_square, unexplained = torch.tensor(means[2:], dtype=torch.float64).reshape(3, -1)
        variance = (target_square - target_mean.square()).clamp(min=0.0)
        explained = torch.where(variance > 0, 1 - unexplained / variance, 0.0)
        if self._settings.normalise:
            advantage = (advantage - mean) / (math.sqrt(max(square - mean**2, 0.0)) + TINY)
        if self._settings.running_scale is not None:
            advantage = advantage / (self._scale(square, count, self._settings.running_scale) + TINY)
        return advantage, explained

    def _scale(self, square: float, count: float, share: float) -> float:
        """Returns the root of the running mean square, after a batch that had this one."""
        if count:
            share = share if float(self._mean_square) > 0 else 1.0
            self._mean_square = self._mean_square.lerp(torch.tensor(square, dtype=torch.float64), share)
        return math.sqrt(float(self._mean_square))


def _log_ratio(played: PolicyBatch, known: Known) -> Tensor:
    """Returns the log-ratio of the present to the behaviour probability of each action, on the CPU, [N]."""
    return (played.log_prob(known.dist_inputs) - played.columns["log_prob"]).float().cpu()


def _means(sums: Tensor) -> list[float]:
    count, *rest = sums.tolist()
    return [count, *(x / count if count else 0.0 for x in rest)]
