"""One update of a policy on rows of trajectories, the same on one worker and on many."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor, nn

from app.algorithms.alpha_zero import expected_log_prob
from app.algorithms.anchors import Anchors, AnchorSettings, Answered
from app.algorithms.appraisal import Appraisal, AppraisalSettings, Appraised
from app.algorithms.contract import Learned, taken
from app.algorithms.descent import Descent, ReduceSum
from app.algorithms.estimators import Estimator
from app.algorithms.normalising import observe, unwrapped
from app.algorithms.passes import SequenceSettings
from app.algorithms.policy_batch import PolicyBatch, Said
from app.algorithms.stepper import Stepper
from app.algorithms.value_heads import Heads, value_errors
from app.algorithms.worth import PolicyLoss
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
    anchors: AnchorSettings = field(default_factory=AnchorSettings)
    """Which policies it is kept near."""
    towards_target: bool = False
    """Whether the policy learns the rows' ``policy_target`` in place of the action that was taken."""
    heads: Heads = ()
    """What each of the rewards counts that the model names; none where there is one."""


def policy_problem(spec: ModelSpec, *, towards_target: bool = False) -> str | None:
    """Returns why ``PolicyLearner`` cannot train a model; None where it can."""
    if not spec.is_policy:
        return "it is no policy: its spec has outputs and no action"
    if towards_target and not spec.policy_target:
        return "its rows carry no target of a search; set policy_target: true in its kwargs"
    return None


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
        teacher: nn.Module | None = None,
    ) -> None:
        """Makes a learner.

        Args:
          module: The network; where there are several workers, one that averages gradients over them.
          spec: The network's shapes.
          stepper: Changes the network's parameters.
          settings: How a batch is learned from.
          workers: Number of workers.
          reduce_sum: Adds up over the workers.
          teacher: Frozen network that the policy is kept near; None without one.

        Raises:
          ValueError: It cannot learn such a model.
        """
        problem = policy_problem(spec, towards_target=settings.towards_target)
        if problem is None and spec.rewards != tuple(one.name for one in settings.heads):
            problem = f"it names the rewards {spec.rewards}, the settings those of {settings.heads}"
        if problem is None and len(spec.states) and settings.sequences is None:
            problem = "it carries a state, and the settings do not say how its trajectories are cut"
        if problem:
            raise ValueError(f"a policy learner cannot train the model: {problem}")
        self._anchors = Anchors(unwrapped(module), spec, teacher, settings.anchors)
        self._spec = spec
        self._module = module
        self._stepper = stepper
        self._settings = settings
        self._workers = workers
        self._reduce_sum = reduce_sum
        appraised = AppraisalSettings(settings.estimator, settings.normalise, settings.running_scale, settings.heads)
        self._appraisal = Appraisal(module, appraised, reduce_sum)
        self._updates = 0
        """By which the weight of a teacher falls."""

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
        given = _Given(played, self._appraisal.judge(played), self._anchors.answers(played))
        descent = Descent(self._stepper, self._workers, self._reduce_sum)
        for _ in range(self._settings.epochs):
            if not self._epoch(descent, given, shuffle):
                break
        metrics = descent.metrics()
        self._updates += bool(metrics)
        return Learned(metrics | given.appraised.metrics if metrics else {})

    def state_dict(self) -> dict[str, Tensor]:
        """Returns the running scale of advantages, the updates done and the first policy, each where it matters."""
        state = self._anchors.state_dict() | self._appraisal.state_dict()
        if self._settings.anchors.teacher is not None:
            state["updates"] = torch.tensor(self._updates)
        return state

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Goes on from a state; see ``Learner``."""
        fitting = taken(state, self.state_dict(), "a policy learner")
        self._anchors.load_state_dict(fitting)
        self._appraisal.load_state_dict(fitting)
        self._updates = int(fitting.get("updates", self._updates))

    def _epoch(self, descent: Descent, given: "_Given", shuffle: torch.Generator) -> bool:
        """Goes once over the batch, and returns whether the policy may change further."""
        played = given.played
        # As many minibatches as every worker makes; some may be empty.
        chunks = torch.randperm(played.units, generator=shuffle).tensor_split(self._settings.minibatches)
        sizes = self._reduce_sum(torch.tensor([float(played.size(chunk)) for chunk in chunks]))
        for chunk, size in zip(chunks, sizes.tolist(), strict=True):
            if size == 0:
                continue  # On all workers alike: the size is that of all of them.
            terms = self._terms(given, played.said(chunk))
            if self._has_gone_too_far(terms, size):
                return False
            descent.step(terms, size)
        return True

    def _terms(self, given: "_Given", said: Said) -> dict[str, Tensor]:
        """Returns the sums of a minibatch by name."""
        worth, value = given.appraised.worth.at(said.rows), said.value / given.appraised.value_unit
        terms = self._settings.loss(self._likelihood(given.played, said), said.entropy, value, worth)._asdict()
        terms |= value_errors(value, worth, self._settings.heads)
        more = self._anchors.terms(given.answered, given.played, said, self._updates)
        return terms | more | ({"total": terms["total"] + more["anchor"]} if more else {})

    def _likelihood(self, played: PolicyBatch, said: Said) -> Tensor:
        """Returns what is to become likely, as a log-probability, [M]: the actions taken, or what a search found."""
        if not self._settings.towards_target:
            return said.log_prob
        (logits,), (mask,) = said.dist_inputs, played.masks_at(said.rows)
        return expected_log_prob(logits, played.columns["policy_target"][said.rows], mask)

    def _has_gone_too_far(self, terms: Mapping[str, Tensor], size: float) -> bool:
        largest = self._settings.largest_kl
        if largest is None:
            return False
        divergence = float(self._reduce_sum(terms["kl"].detach().cpu().double())) / size
        return divergence > KL_STOP_FACTOR * largest


class _Given(NamedTuple):
    """What one update learns from."""

    played: PolicyBatch
    appraised: Appraised
    answered: Answered
