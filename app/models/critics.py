"""The contract of policies with critics beside them: what SAC, TD3, DDPG and IQL train."""

from typing import Literal, Protocol, runtime_checkable

from torch import nn

from app.models.distributions.categorical import Categorical
from app.models.distributions.squashed_gaussian import SquashedGaussian
from app.models.spec import ModelSpec

Kind = Literal["choices", "numbers"]
"""What the action is: one choice, or bounded real numbers at any leaves."""


@runtime_checkable
class Criticised(Protocol):
    """A torch module that is a policy, and holds critics that are trained with it and never asked in a game.

    Its forward maps an observation to a ``PolicyOutput``, as any policy's. With ``criticise=True`` and an action,
    nested like the spec's and each leaf [B, …], it gives the values of that action by each critic, [critics, B]; where
    the action is one choice it needs none, and gives the values of all choices, [critics, B, A].
    """

    spec: ModelSpec
    policy: nn.Module
    """All of the network that games need."""
    critics: nn.Module
    """All of the network that values actions."""
    log_temperature: nn.Parameter
    """Logarithm of the weight of the entropy, []; SAC alone learns it."""


def action_kind(spec: ModelSpec) -> Kind | None:
    """Returns what an action is; None where it is neither one choice nor bounded numbers alone."""
    leaves = spec.actions.leaves
    if len(leaves) == 1 and isinstance(leaves[0], Categorical):
        return "choices"
    return "numbers" if leaves and all(isinstance(leaf, SquashedGaussian) for leaf in leaves) else None


def critics_problem(module: object, spec: ModelSpec, *, numbers_alone: bool) -> str | None:
    """Returns why an algorithm with critics cannot train a model; None where it can.

    Args:
      module: The network.
      spec: Its shapes.
      numbers_alone: Whether the algorithm is for real numbers alone.
    """
    if not spec.is_policy:
        return "it is no policy: its spec has outputs and no action"
    allowed = "bounded real numbers" if numbers_alone else "one choice, or bounded real numbers"
    kind = action_kind(spec)
    if kind is None or (numbers_alone and kind == "choices"):
        got = ", ".join(type(leaf).__name__ for leaf in spec.actions.leaves)
        return f"its action is {got}; allowed is {allowed}"
    if len(spec.states):
        return "it carries a state; allowed is a network whose ticks stand alone"
    if not isinstance(module, Criticised):
        return f"{type(module).__name__} has no critics; describe them under critics"
    return None
