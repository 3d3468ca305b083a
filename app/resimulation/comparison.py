"""Where another model would have acted differently."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from app.agents.json_arrays import write_action
from app.models.distributions.action import kl, log_prob
from app.models.masks import fitting_masks
from app.models.question import Decision
from app.models.spec import ModelSpec
from app.recordings.reading import Episode, RecordedStep
from app.resimulation.again import Again, Asked

TOLERANCE = 1e-5
"""Largest difference of two continuous actions that are the same."""


@dataclass(frozen=True, slots=True)
class TickComparison:
    """One tick, as it was played and as the other model plays it."""

    seq: int
    """Number of the step, from 1."""
    version: str | None
    """Weights that played."""
    differs: bool
    """Whether the action, or where no model was asked the answer, is another one."""
    action: Any
    """What was done, as JSON; None where the recording holds no decision."""
    other_action: Any
    """What the other model does, with the same random numbers; None where it was not asked, or failed."""
    probability: float | None
    """Of the action that was done, by the policy that played; a density where it is continuous."""
    other_probability: float | None
    """Of the same action by the other model."""
    value: Any
    other_value: Any
    kl: float | None
    """KL(played ‖ other) in nats; None where the recording does not tell what the action was drawn from."""
    error: str | None
    """What went wrong this time; None where nothing did."""

    def as_dict(self) -> dict[str, Any]:
        """Returns the tick as a JSON object."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Comparison:
    """A session as it was played, beside another model."""

    session: str
    against: str
    """The other model."""
    ticks: Sequence[TickComparison]

    @property
    def differing(self) -> list[TickComparison]:
        """Returns the ticks with another action."""
        return [tick for tick in self.ticks if tick.differs]

    @property
    def mean_kl(self) -> float | None:
        """Returns the mean over the ticks where it is known; None where it is known nowhere."""
        found = [tick.kl for tick in self.ticks if tick.kl is not None]
        return sum(found) / len(found) if found else None

    def as_dict(self) -> dict[str, Any]:
        """Returns all of it as a JSON object."""
        return {
            "session": self.session,
            "against": self.against,
            "ticks": len(self.ticks),
            "differing": len(self.differing),
            "errors": sum(tick.error is not None for tick in self.ticks),
            "mean_kl": self.mean_kl,
            "compared": [tick.as_dict() for tick in self.ticks],
        }


def compare(episode: Episode, against: str, played: Sequence[Again], spec: ModelSpec) -> Comparison:
    """Returns how two models differ on the ticks of one session.

    Args:
      episode: What was recorded.
      against: Name of the other model.
      played: Its steps, once more.
      spec: Of the other model.
    """
    ticks = [_compared(again, spec) for again in played if again.step.event == "tick"]
    return Comparison(episode.session, against, ticks)


def _compared(again: Again, spec: ModelSpec) -> TickComparison:
    step, asked = again.step, again.asked[-1] if again.asked else None
    action = _action(step, spec) if step.has_decision else None
    other = None if asked is None else asked.decision
    same_kind = step.has_decision and other is not None
    return TickComparison(
        seq=step.seq,
        version=step.version,
        differs=_differ(action, other, spec) if same_kind and other is not None else step.output != again.output,
        action=None if action is None else write_action(spec.actions.unflatten(_plain(action))),
        other_action=None if other is None else write_action(other.action),
        probability=float(np.exp(step.log_prob)) if step.has_decision else None,
        other_probability=None if action is None or asked is None else _probability(asked, action, spec),
        value=step.value.tolist() if step.has_decision else None,
        other_value=None if other is None else np.asarray(other.value).tolist(),
        kl=None if asked is None else _kl(step, asked, spec),
        error=again.error,
    )


def _action(step: RecordedStep, spec: ModelSpec) -> list[NDArray[np.generic]] | None:
    """Returns the recorded action by the leaves of the other model; None where it is of another kind."""
    if set(step.action) != set(spec.actions.paths):
        return None
    leaves = [step.action[path] for path in spec.actions.paths]
    fits = all(leaf.shape == wanted.shape for leaf, wanted in zip(leaves, spec.actions.leaves, strict=True))
    return leaves if fits else None


def _differ(action: Sequence[NDArray[np.generic]] | None, other: Decision, spec: ModelSpec) -> bool:
    if action is None:
        return True
    pairs = zip(action, spec.actions.flatten(other.action), strict=True)
    return any(not np.allclose(mine, theirs, atol=TOLERANCE) for mine, theirs in pairs)


def _probability(asked: Asked, action: Sequence[NDArray[np.generic]], spec: ModelSpec) -> float | None:
    dist_inputs = asked.decision.dist_inputs
    if dist_inputs is None:
        return None
    taken = [torch.from_numpy(np.array(leaf)[None]) for leaf in action]
    return float(log_prob(spec.actions, _tensors(dist_inputs), taken, _masks(asked, spec)).exp())


def _kl(step: RecordedStep, asked: Asked, spec: ModelSpec) -> float | None:
    other = asked.decision.dist_inputs
    recorded: Mapping[str, NDArray[np.generic]] = step.dist_inputs
    if other is None or not recorded or set(recorded) != set(spec.actions.paths):
        return None
    mine = [np.asarray(recorded[path], np.float32) for path in spec.actions.paths]
    if any(a.shape != b.shape for a, b in zip(mine, other, strict=True)):
        return None
    return float(kl(spec.actions, _tensors(mine), _tensors(other), _masks(asked, spec)))


def _masks(asked: Asked, spec: ModelSpec) -> list[torch.Tensor | None]:
    mask = asked.question.mask
    if mask is None:
        return [None] * len(spec.actions)
    fitting = fitting_masks(mask, spec.actions) or [None] * len(spec.actions)
    return [None if leaf is None else torch.from_numpy(np.array(leaf, np.bool_)[None]) for leaf in fitting]


def _tensors(leaves: Sequence[NDArray[np.generic]]) -> list[torch.Tensor]:
    return [torch.from_numpy(np.array(leaf, np.float32)[None]) for leaf in leaves]


def _plain(leaves: Sequence[NDArray[np.generic]]) -> list[Any]:
    return [leaf.item() if leaf.ndim == 0 else leaf for leaf in leaves]
