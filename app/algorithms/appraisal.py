"""What the rows of a batch were worth, over the batches of all workers."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from app.algorithms.descent import ReduceSum
from app.algorithms.estimators import Estimate, Estimator, Played
from app.algorithms.normalising import value_scale
from app.algorithms.policy_batch import Known, PolicyBatch
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


class Appraised(NamedTuple):
    """What a loss learns from, and what is told of it."""

    worth: Worth
    """Values, their targets and advantages are divided by ``value_unit``."""
    value_unit: float
    """What the network's values are divided by; 1 where they have no scale of their own."""
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
        unit = self._unit(estimate.target_value, weight)
        scaled = Estimate(*(x / (unit or 1.0) for x in estimate))
        value = value / (unit or 1.0)
        advantage, explained = self._advantage(scaled, value, weight > 0)
        told = {"explained_variance": explained} | ({} if unit is None else {"value_deviation": unit})
        device = batch["reward"].device
        advantage, target, value = (x.to(device) for x in (advantage, scaled.target_value, value))
        return Appraised(Worth(batch["log_prob"], advantage, target, batch["weight"], value), unit or 1.0, told)

    def state_dict(self) -> dict[str, Tensor]:
        """Returns the running scale of advantages, where there is one."""
        return {} if self._settings.running_scale is None else {"advantage_mean_square": self._mean_square.clone()}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Takes what ``state_dict`` returned, out of a learner's whole state."""
        self._mean_square = state.get("advantage_mean_square", self._mean_square).clone()

    def _unit(self, target: Tensor, weight: Tensor) -> float | None:
        """Shows the returns to what scales the value and returns their deviation; None where there is no such."""
        scale = value_scale(self._module)
        if scale is None:
            return None
        scale.observe(self._reduce_sum(scale.moments(target, weight)))
        return scale.deviation

    def _advantage(self, estimate: Estimate, value: Tensor, counted: Tensor) -> tuple[Tensor, float]:
        """Returns the advantages at their wanted scale, and how much of the returns the value explains."""
        # In float64: in float32 nothing would be left of a small spread around a large mean.
        a, t, v = (x[counted].double() for x in (estimate.advantage, estimate.target_value, value))
        moments = torch.stack([torch.ones_like(a), a, a.square(), t, t.square(), (t - v).square()]).sum(1)
        count, mean, square, target_mean, target_square, unexplained = _means(self._reduce_sum(moments))
        variance = max(target_square - target_mean**2, 0.0)
        explained = 1 - unexplained / variance if count and variance > 0 else 0.0
        advantage = estimate.advantage
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
