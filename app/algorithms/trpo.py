"""Trust region policy optimization (Schulman et al., 2015), https://arxiv.org/abs/1502.05477, with a critic."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from app.algorithms.appraisal import Appraisal, AppraisalSettings, Appraised
from app.algorithms.contract import Learned, taken
from app.algorithms.descent import Descent, ReduceSum
from app.algorithms.estimators import Estimator
from app.algorithms.normalising import observe, unwrapped
from app.algorithms.passes import SequenceSettings
from app.algorithms.policy_batch import PolicyBatch
from app.algorithms.stepper import Stepper
from app.algorithms.trust_region import Step, TrustRegion, trust_region_step
from app.algorithms.value_heads import Heads, value_errors
from app.algorithms.worth import over_heads
from app.models.depending import acting_parameters, shared_parameters
from app.models.distributions.action import kl
from app.models.spec import ModelSpec


@dataclass(frozen=True, slots=True)
class TrpoSettings:
    """How a batch is learned from."""

    estimator: Estimator
    """What the rows were worth."""
    region: TrustRegion
    """The policy's one step an update."""
    entropy_coef: float
    """Weight of the entropy bonus."""
    value_coef: float
    """Weight of the critic's loss."""
    epochs: int
    """Passes of the critic over each batch."""
    minibatches: int
    """The critic's optimizer steps of one epoch, the same on all workers."""
    sequences: SequenceSettings | None = None
    """How a network with a state is led over a batch; None where it has none."""
    heads: Heads = ()
    """What each of the rewards counts that the model names; none where there is one."""


def trpo_problem(module: nn.Module, spec: ModelSpec) -> str | None:
    """Returns why ``TrpoLearner`` cannot train a network; None where it can."""
    if not spec.is_policy:
        return "it is no policy: its spec has outputs and no action"
    if shared := shared_parameters(module):
        more = ", …" if len(shared) > 2 else ""  # noqa: PLR2004  # Two are enough to find the others.
        return (
            f"its policy and its value share {', '.join(shared[:2])}{more}, and they are moved by steps of their own; "
            "give the value layers of its own, as value: {encoder: …} of described policies does"
        )
    return None


class TrpoLearner:
    """Moves the policy by one step within a trust region, and the critic by optimizer steps; see ``Learner``.

    The policy's step is computed on the network itself in fp32. On several workers each adds its share to gradient,
    products with the Fisher matrix, surrogate and divergence, so that all of them take the same step.
    """

    def __init__(
        self,
        module: nn.Module,
        spec: ModelSpec,
        stepper: Stepper,
        settings: TrpoSettings,
        workers: int,
        reduce_sum: ReduceSum,
    ) -> None:
        """Makes a learner.

        Args:
          module: The network; where there are several workers, one that averages gradients over them.
          spec: The network's shapes.
          stepper: Changes the critic.
          settings: How a batch is learned from.
          workers: Number of workers.
          reduce_sum: Adds up over the workers.

        Raises:
          ValueError: It cannot learn such a model.
        """
        self._module, self._own = module, unwrapped(module)
        if problem := trpo_problem(self._own, spec):
            raise ValueError(f"TRPO cannot train the model: {problem}")
        self._spec = spec
        self._acting = acting_parameters(self._own)
        self._stepper = stepper
        self._settings = settings
        self._workers = workers
        self._reduce_sum = reduce_sum
        appraised = AppraisalSettings(settings.estimator, normalise=True, heads=settings.heads)
        self._appraisal = Appraisal(module, appraised, reduce_sum)

    def update(self, batch: Mapping[str, Tensor], shuffle: torch.Generator) -> Learned:
        """Learns from a batch; see ``Learner``.

        Args:
          batch: Columns of ``app.replay.rows``, [N, …], or of ``app.replay.sequences``, [K, T, …]; rows of weight 0 are
            not learned from.
          shuffle: Draws the critic's minibatches.

        Raises:
          NonFiniteLossError: A loss or gradient is NaN or infinite; the step that would have spread it was not taken.
        """
        played = PolicyBatch(self._own, self._spec, batch, self._settings.sequences)
        observe(self._own, played.observation, played.columns["weight"], self._reduce_sum)
        everything = torch.arange(played.units)
        size = float(self._reduce_sum(torch.tensor(float(played.size(everything)), dtype=torch.float64)))
        if size == 0:  # On all workers alike.
            return Learned({})
        appraised = self._appraisal.judge(played)
        objective = _Surrogate(played, everything, appraised, size, self._settings.entropy_coef)
        step = trust_region_step(self._acting, objective, self._settings.region, self._reduce_sum)
        criticised = PolicyBatch(self._module, self._spec, batch, self._settings.sequences)
        metrics = self._critic_learns(criticised, appraised, shuffle)
        entropy = float(self._reduce_sum(objective.entropy().double().cpu()))
        return Learned(metrics | _told(step, entropy) | appraised.metrics)

    def state_dict(self) -> dict[str, Tensor]:
        """Returns nothing: an update depends on network and optimizer alone."""
        return {}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Goes on from a state; see ``Learner``."""
        taken(state, self.state_dict(), "TRPO")

    def _critic_learns(self, played: PolicyBatch, appraised: Appraised, shuffle: torch.Generator) -> dict[str, float]:
        """Takes the critic's optimizer steps, which leave the policy as it is, and returns what is told of them."""
        kept = [x.detach().clone() for x in self._acting]
        descent = Descent(self._stepper, self._workers, self._reduce_sum)
        for _ in range(self._settings.epochs):
            chunks = torch.randperm(played.units, generator=shuffle).tensor_split(self._settings.minibatches)
            sizes = self._reduce_sum(torch.tensor([float(played.size(chunk)) for chunk in chunks]))
            for chunk, size in zip(chunks, sizes.tolist(), strict=True):
                if size:  # On all workers alike: the size is that of all of them.
                    descent.step(self._critic_terms(played, chunk, appraised), size)
        with torch.no_grad():  # Gradients of 0 may move it, by an optimizer's weight decay.
            for x, before in zip(self._acting, kept, strict=True):
                x.copy_(before)
        return descent.metrics()

    def _critic_terms(self, played: PolicyBatch, chunk: Tensor, appraised: Appraised) -> dict[str, Tensor]:
        said = played.said(chunk)
        worth, value = appraised.worth.at(said.rows), said.value / appraised.value_unit
        loss = (worth.weight * over_heads((value - worth.target_value).square())).sum()
        # On several workers each parameter needs a gradient, lest whoever averages them waits for it.
        total = self._settings.value_coef * loss
        if self._workers > 1:
            total = total + 0 * (said.log_prob.sum() + said.entropy.sum())
        return {"total": total, "value": loss} | value_errors(value, worth, self._settings.heads)


class _Surrogate:
    """What TRPO maximises, and the divergence from the policy before; see ``Objective``."""

    def __init__(
        self, played: PolicyBatch, units: Tensor, appraised: Appraised, size: float, entropy_coef: float
    ) -> None:
        self._played, self._units = played, units
        self._worth = appraised.worth
        self._size, self._entropy_coef = size, entropy_coef
        with torch.no_grad():
            self._before = [x.detach() for x in played.said(units).dist_inputs]

    def gain(self) -> Tensor:
        """Returns the share of the advantages, by how much likelier their actions are now, and of the entropy."""
        said = self._played.said(self._units)
        worth = self._worth.at(said.rows)
        ratio = (said.log_prob - worth.behaviour_log_prob).exp()
        return (worth.weight * (ratio * worth.advantage + self._entropy_coef * said.entropy)).sum() / self._size

    def divergence(self) -> Tensor:
        """Returns the share of KL(policy before ‖ policy)."""
        said = self._played.said(self._units)
        masks = self._played.masks_at(said.rows)
        found = kl(self._played.spec.actions, self._before, said.dist_inputs, masks)
        return (self._worth.weight[said.rows] * found).sum() / self._size

    @torch.no_grad()
    def entropy(self) -> Tensor:
        """Returns the share of the entropy."""
        said = self._played.said(self._units)
        return (self._worth.weight[said.rows] * said.entropy).sum() / self._size


def _told(step: Step, entropy: float) -> dict[str, float]:
    return {
        "surrogate_gain": step.gain,
        "kl": step.kl,
        "line_search_steps": float(step.tried),
        "policy_grad_norm": step.gradient_norm,
        "entropy": entropy,
    }
