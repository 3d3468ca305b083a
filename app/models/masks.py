"""Masks of a question, and of a batch of questions: which choices an action has."""

from collections.abc import Sequence

import numpy as np

from app.models.distributions.distribution import Distribution, Mask
from app.nested import Structure

Masks = list[Mask | None]
"""One for each leaf of the action; None allows all there."""


def fitting_masks(nested: object, actions: Structure[Distribution]) -> Masks:
    """Returns the masks of one question by leaves, each [choices].

    Raises:
      ValueError: They do not fit the action; the message says where.
    """
    try:
        masks = actions.flatten(nested)
    except (ValueError, TypeError) as error:
        raise ValueError(f"the mask is not nested like the model's action: {error}") from error
    for leaf, path, mask in zip(actions.leaves, actions.paths, masks, strict=True):
        if mask is None:
            continue
        name = f"mask/{path}" if path else "mask"
        if not leaf.choices:
            raise ValueError(f"the {name} is {mask}; an action of {leaf} has no choices, allowed is None")
        if mask.shape != (leaf.choices,) or mask.dtype != bool or not mask.any():
            raise ValueError(f"the {name} is {mask}; the model takes {leaf.choices} booleans, at least one true")
    return masks


def stacked_masks(actions: Structure[Distribution], questions: Sequence[Masks | None]) -> Masks:
    """Returns the masks of each leaf, [B, choices]; None where no question has one there."""
    if not any(questions):
        return [None] * len(actions)
    stacked: list[Mask] = [np.ones((len(questions), leaf.choices), bool) for leaf in actions.leaves]
    given = [False] * len(stacked)
    for row, masks in enumerate(questions):
        for at, mask in enumerate(masks or ()):
            if mask is not None:
                stacked[at][row] = mask
                given[at] = True
    return [mask if any_given else None for mask, any_given in zip(stacked, given, strict=True)]
