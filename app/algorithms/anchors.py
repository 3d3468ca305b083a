"""Frozen policies that another one is kept near.

Kickstarting (Schmitt et al., 2018), https://arxiv.org/abs/1803.03835: a teacher, whose weight falls while the student
learns. And the first policy of a run, so that learning does not wander off (as in fine-tuning by Jaques et al., 2017,
https://arxiv.org/abs/1611.02796).
"""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from app.algorithms.policy_batch import PolicyBatch, Said
from app.algorithms.schedules import Line
from app.models.distributions.action import kl
from app.models.module import call, spec_of
from app.models.spec import ModelSpec


@dataclass(frozen=True, slots=True)
class AnchorSettings:
    """What a policy is kept near."""

    teacher: Line | None = None
    """Weight of KL(teacher ‖ policy), by updates; None without a teacher."""
    first_coef: float = 0.0
    """Weight of KL(policy ‖ first policy); 0 without."""


class Anchors:
    """The divergences of one policy from those that it is kept near."""

    def __init__(self, policy: nn.Module, spec: ModelSpec, teacher: nn.Module | None, settings: AnchorSettings) -> None:
        """Copies the policy as it is now, where it is to be kept near that.

        Args:
          policy: The network itself.
          spec: Its shapes.
          teacher: A network with the same observation and action; None without one.
          settings: How near.

        Raises:
          ValueError: There is a teacher without a weight or the other way round, or it does not fit the policy.
        """
        if (teacher is None) != (settings.teacher is None):
            raise ValueError(
                "a teacher needs a weight and a weight a teacher; got a "
                f"{'weight' if teacher is None else 'teacher'} alone"
            )
        self._settings = settings
        self._spec = spec
        if teacher is not None and (problem := teacher_problem(spec_of(teacher), spec)):
            raise ValueError(problem)
        if settings.first_coef and len(spec.states):
            raise ValueError("the first policy is asked about single ticks, got a model that carries a state")
        self._teacher = None if teacher is None else _frozen(teacher)
        self._first = _frozen(policy) if settings.first_coef else None

    def answers(self, played: PolicyBatch) -> "Answered":
        """Returns what the frozen policies say to all rows of a batch."""
        return Answered(*(_dist_inputs(network, self._spec, played) for network in (self._teacher, self._first)))

    def terms(self, answered: "Answered", played: PolicyBatch, said: Said, updates: int) -> dict[str, Tensor]:
        """Returns the divergences summed over the rows of a minibatch, and ``anchor``, what they add to the loss.

        Args:
          answered: By the frozen policies.
          played: The batch.
          said: By the policy that learns, to the minibatch.
          updates: Updates before this one.
        """
        masks = played.masks_at(said.rows)
        found: dict[str, Tensor] = {}
        weighted: list[Tensor] = []
        if answered.teacher is not None and self._settings.teacher is not None:
            taught = [leaf[said.rows] for leaf in answered.teacher]
            found["teacher_kl"] = kl(self._spec.actions, taught, said.dist_inputs, masks).sum()
            weighted.append(self._settings.teacher.at(updates) * found["teacher_kl"])
        if answered.first is not None:
            first = [leaf[said.rows] for leaf in answered.first]
            found["first_kl"] = kl(self._spec.actions, said.dist_inputs, first, masks).sum()
            weighted.append(self._settings.first_coef * found["first_kl"])
        return found | ({"anchor": torch.stack(weighted).sum()} if weighted else {})

    def state_dict(self) -> dict[str, Tensor]:
        """Returns the first policy, which a run that goes on has no other way to know, by names with ``first.``."""
        state = {} if self._first is None else self._first.state_dict()
        return {f"first.{name}": x.detach().clone() for name, x in state.items()}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Takes tensors that ``state_dict`` returned, out of a learner's whole state."""
        if self._first is not None:
            mine = {name.removeprefix("first."): x for name, x in state.items() if name.startswith("first.")}
            self._first.load_state_dict(mine)


@dataclass(frozen=True, slots=True)
class Answered:
    """What the frozen policies say to all rows: inputs of the action's distribution, each [N, …]; None without one."""

    teacher: list[Tensor] | None
    first: list[Tensor] | None


def teacher_problem(teacher: ModelSpec, student: ModelSpec) -> str | None:
    """Returns why a policy cannot be another one's teacher; None where it can."""
    if not teacher.is_policy:
        return "the teacher is no policy: its spec has outputs and no action"
    if len(teacher.states) or len(student.states):
        return "teacher and student are asked about single ticks, got a model that carries a state"
    for part in ("observation", "action"):
        got, wanted = teacher.describe()[part], student.describe()[part]
        if got != wanted:
            return f"the teacher's {part} is {got}, allowed is the student's, {wanted}"
    return None


def _frozen(network: nn.Module) -> nn.Module:
    return deepcopy(network).requires_grad_(False).eval()


def _dist_inputs(network: nn.Module | None, spec: ModelSpec, played: PolicyBatch) -> list[Tensor] | None:
    if network is None:
        return None
    observation = played.observation
    with torch.no_grad():
        return call(network.to(observation[0].device), spec, observation, [])[0][:-1]
