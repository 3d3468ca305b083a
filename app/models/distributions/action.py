"""A whole action: independent distributions at the leaves of a nested value."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from app.models.distributions.distribution import Distribution, Floats, Mask
from app.nested import Structure

if TYPE_CHECKING:
    from torch import Tensor


class WholeActed(NamedTuple):
    """Actions of a batch."""

    actions: list[NDArray[np.generic]]
    """Of each leaf, [B, …]."""
    log_probs: Floats
    """Of the whole action, [B]."""


def draws_of(action: Structure[Distribution]) -> int:
    """Returns how many uniform numbers a whole action is made of."""
    return sum(leaf.draws for leaf in action.leaves)


def draw(action: Structure[Distribution], random: Callable[[], float], own: Callable[[], float]) -> list[float]:
    """Returns the uniform numbers that a whole action is made of.

    Args:
      action: The action's leaves.
      random: Draws a number in [0, 1).
      own: Returns the session's own number.
    """
    numbers: list[float] = []
    for leaf in action.leaves:
        numbers += [random() for _ in range(leaf.draws - leaf.own_draws)]
        numbers += [own() for _ in range(leaf.own_draws)]
    return numbers


def act(
    action: Structure[Distribution],
    inputs: Sequence[Floats],
    uniforms: NDArray[np.float64],
    masks: Sequence[Mask | None],
) -> WholeActed:
    """Returns an action for each row of a batch.

    Args:
      action: The action's leaves.
      inputs: What the network gave for each leaf, [B, inputs].
      uniforms: Numbers in [0, 1), [B, draws of all leaves]; NaN takes the most probable action.
      masks: Allowed choices of each leaf, [B, choices]; None allows all.
    """
    actions: list[NDArray[np.generic]] = []
    total: Floats | None = None
    used = 0
    for leaf, numbers, mask in zip(action.leaves, inputs, masks, strict=True):
        acted = leaf.act(numbers, uniforms[:, used : used + leaf.draws], mask)
        used += leaf.draws
        actions.append(acted.actions)
        total = acted.log_probs if total is None else total + acted.log_probs
    if total is None:
        raise ValueError("an action needs at least one leaf")
    return WholeActed(actions, total)


def log_prob(
    action: Structure[Distribution],
    inputs: "Sequence[Tensor]",
    actions: "Sequence[Tensor]",
    masks: "Sequence[Tensor | None]",
) -> "Tensor":
    """Returns the log-probability of whole actions, [B]: the sum over the leaves; see ``log_prob_and_entropy``."""
    parts = zip(action.leaves, inputs, actions, masks, strict=True)
    found = [leaf.log_prob(numbers, taken, mask) for leaf, numbers, taken, mask in parts]
    return sum(found[1:], found[0])


def log_prob_and_entropy(
    action: Structure[Distribution],
    inputs: "Sequence[Tensor]",
    actions: "Sequence[Tensor]",
    masks: "Sequence[Tensor | None]",
) -> "tuple[Tensor, Tensor]":
    """Returns log-probability, [B], and entropy, [B], of whole actions: sums over the leaves.

    Args:
      action: The action's leaves.
      inputs: What the network gives for each leaf, [B, inputs].
      actions: What was done at each leaf, [B, …].
      masks: What was allowed at each leaf, bool [B, choices]; None allows all.
    """
    parts = zip(action.leaves, inputs, masks, strict=True)
    entropies = [leaf.entropy(numbers, mask) for leaf, numbers, mask in parts]
    return log_prob(action, inputs, actions, masks), sum(entropies[1:], entropies[0])


def kl(
    action: Structure[Distribution],
    inputs_p: "Sequence[Tensor]",
    inputs_q: "Sequence[Tensor]",
    masks: "Sequence[Tensor | None]",
) -> "Tensor":
    """Returns KL(p ‖ q) of whole actions, [B]: the sum over the leaves.

    Args:
      action: The action's leaves.
      inputs_p: What one network gives for each leaf, [B, inputs].
      inputs_q: What another one gives.
      masks: What was allowed at each leaf, bool [B, choices]; None allows all.
    """
    parts = zip(action.leaves, inputs_p, inputs_q, masks, strict=True)
    found = [leaf.kl(p, q, mask) for leaf, p, q, mask in parts]
    return sum(found[1:], found[0])
