"""One update of a policy on rows of trajectories, the same on one worker and on many."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from app.algorithms.contract import Learned, taken
from app.algorithms.descent import Descent, ReduceSum
from app.algorithms.estimators import Estimator, Played
from app.algorithms.normalising import observe, value_scale
from app.algorithms.passes import SequenceSettings
from app.algorithms.policy_batch import Known, PolicyBatch
from app.algorithms.stepper import Stepper
from app.algorithms.worth import PolicyLoss, Worth
from app.models.spec import ModelSpec

__all__ = ["PolicyLearner", "PolicySettings", "ReduceSum", "policy_problem"]

KL_STOP_FACTOR = 1.5
"""How far the divergence of one minibatch may lie above what is allowed on average."""


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
    sequences: SequenceSettings | None = None
    """How a network with a state is led over a batch; None where it has none."""
    largest_kl: float | None = None
    """Divergence from the policy that acted at which the rest of the update is left out; None never does so."""
    running_scale: float | None = None
    """Share of each batch in the running mean square that advantages are divided by the root of; None divides by
    nothing."""


def policy_problem(spec: ModelSpec) -> str | None:
    """Returns why ``PolicyLearner`` cannot train a model; None where it can."""
    return None if spec.is_policy else "it is no policy: its spec has outputs and no action"


class PolicyLearner:
    """Learns from rows of trajectories: what they were worth, and then some optimizer steps.

    They may be a player's own newest games, those of older versions, or somebody else's: estimator and loss know.
    """

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
        problem = policy_problem(spec)
        if problem is None and len(spec.states) and settings.sequences is None:
            problem = "it carries a state, and the settings do not say how its trajectories are cut"
        if problem:
            raise ValueError(f"a policy learner cannot train the model: {problem}")
        self._spec = spec
        self._module = module
        self._stepper = stepper
        self._settings = settings
        self._workers = workers
        self._reduce_sum = reduce_sum
        self._mean_square = torch.zeros((), dtype=torch.float64)
        """Running mean square of the advantages; 0 before the first batch."""
        self._value_unit = 1.0
        """What values, their targets and advantages are divided by for the loss of this update."""

    def update(self, batch: Mapping[str, Tensor], shuffle: torch.Generator) -> Learned:
        """Learns from a batch; see ``Learner``.

        Values are recomputed with the present network; the log-probability stored with each row is the ratio's base.

        Args:
          batch: Columns of ``app.replay.rows``, [N, …], or of ``app.replay.sequences``, [K, T, …]; rows of weight 0 are
            not learned from.
          shuffle: Draws the minibatches.

        Raises:
          NonFiniteLossError: A loss or gradient is NaN or infinite; the step that would have spread it was not taken.
        """
        played = PolicyBatch(self._module, self._spec, batch, self._settings.sequences)
        observe(self._module, played.observation, played.columns["weight"], self._reduce_sum)
        worth, found = self._worth(played)
        descent = Descent(self._stepper, self._workers, self._reduce_sum)
        for _ in range(self._settings.epochs):
            if not self._epoch(descent, played, worth, shuffle):
                break
        metrics = descent.metrics()
        return Learned(metrics | found if metrics else {})

    def state_dict(self) -> dict[str, Tensor]:
        """Returns the running scale of advantages, where there is one."""
        return {} if self._settings.running_scale is None else {"advantage_mean_square": self._mean_square.clone()}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Goes on from a state; see ``Learner``."""
        fitting = taken(state, self.state_dict(), "a policy learner")
        if fitting:
            self._mean_square = fitting["advantage_mean_square"].clone()

    def _epoch(self, descent: Descent, played: PolicyBatch, worth: Worth, shuffle: torch.Generator) -> bool:
        """Goes once over the batch, and returns whether the policy may change further."""
        # As many minibatches as every worker makes; some may be empty.
        chunks = torch.randperm(played.units, generator=shuffle).tensor_split(self._settings.minibatches)
        sizes = self._reduce_sum(torch.tensor([float(played.size(chunk)) for chunk in chunks]))
        for chunk, size in zip(chunks, sizes.tolist(), strict=True):
            if size == 0:
                continue  # On all workers alike: the size is that of all of them.
            said = played.said(chunk)
            value = said.value / self._value_unit
            terms = self._settings.loss(said.log_prob, said.entropy, value, worth.at(said.rows))._asdict()
            if self._has_gone_too_far(terms, size):
                return False
            descent.step(terms, size)
        return True

    def _has_gone_too_far(self, terms: Mapping[str, Tensor], size: float) -> bool:
        largest = self._settings.largest_kl
        if largest is None:
            return False
        divergence = float(self._reduce_sum(terms["kl"].detach().cpu().double())) / size
        return divergence > KL_STOP_FACTOR * largest

    def _worth(self, played: PolicyBatch) -> tuple[Worth, dict[str, float]]:
        """Returns what the rows were worth, and what is told of that: how much of the returns the value explains."""
        batch, known = played.columns, played.known()
        value = known.value.float().cpu()
        log_ratio = _log_ratio(played, known) if self._settings.estimator.wants_log_ratio else None
        estimate = self._settings.estimator(Played(batch["reward"].cpu(), batch["kind"].cpu(), value, log_ratio))
        weight = batch["weight"].cpu()
        counted = weight > 0
        # In float64: in float32 nothing would be left of a small spread around a large mean.
        a, t, v = (x[counted].double() for x in (estimate.advantage, estimate.target_value, value))
        moments = torch.stack([torch.ones_like(a), a, a.square(), t, t.square(), (t - v).square()]).sum(1)
        count, mean, square, target_mean, target_square, unexplained = _means(self._reduce_sum(moments))
        variance = max(target_square - target_mean**2, 0.0)
        explained = 1 - unexplained / variance if count and variance > 0 else 0.0
        advantage = estimate.advantage
        if self._settings.normalise:
            advantage = (advantage - mean) / (math.sqrt(max(square - mean**2, 0.0)) + 1e-8)
        if self._settings.running_scale is not None:
            advantage = advantage / (self._scale(square, count) + 1e-8)
        told = {"explained_variance": explained} | self._rescaled(estimate.target_value, weight)
        unit, device = self._value_unit, batch["reward"].device
        advantage, target, value = (x.to(device) / unit for x in (advantage, estimate.target_value, value))
        return Worth(batch["log_prob"], advantage, target, batch["weight"], value), told

    def _rescaled(self, target: Tensor, weight: Tensor) -> dict[str, float]:
        """Shows the returns to what scales the value, where there is such, and returns their deviation."""
        scale = value_scale(self._module)
        if scale is None:
            return {}
        scale.observe(self._reduce_sum(scale.moments(target, weight)))
        self._value_unit = scale.deviation
        return {"value_deviation": self._value_unit}

    def _scale(self, square: float, count: float) -> float:
        """Returns the root of the running mean square, after a batch that had this one."""
        if count and self._settings.running_scale is not None:
            share = self._settings.running_scale if float(self._mean_square) > 0 else 1.0
            self._mean_square = self._mean_square.lerp(torch.tensor(square, dtype=torch.float64), share)
        return math.sqrt(float(self._mean_square))


def _log_ratio(played: PolicyBatch, known: Known) -> Tensor:
    """Returns the log-ratio of the present to the behaviour probability of each action, on the CPU, [N]."""
    return (played.log_prob(known.dist_inputs) - played.columns["log_prob"]).float().cpu()


def _means(sums: Tensor) -> list[float]:
    count, *rest = sums.tolist()
    return [count, *(x / count if count else 0.0 for x in rest)]
