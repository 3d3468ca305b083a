"""What an action was drawn from, as numbers to show."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from app.models.distributions.categorical import log_softmax
from app.recordings.reading import Episode, RecordedStep

EPSILON_GREEDY: Final = "EpsilonGreedy"


def probabilities(episode: Episode, step: RecordedStep) -> dict[str, NDArray[np.float32]]:
    """Returns how probable each choice was, [choices], by the path of the action's leaf.

    Leaves without choices are left out, and so is a step of which nobody told what its action was drawn from. Of an
    epsilon-greedy action the session's own ladder is left out of account.
    """
    found: dict[str, NDArray[np.float32]] = {}
    for path, numbers in step.dist_inputs.items():
        leaf = episode.spec["action"][path]
        if leaf["choices"]:
            mask = step.action_mask.get(path)
            found[path] = _of_choices(
                leaf, np.asarray(numbers, np.float32), None if mask is None else mask.astype(bool)
            )
    return found


def distribution(episode: Episode, step: RecordedStep) -> dict[str, NDArray[np.float32]]:
    """Returns the parameters of each leaf without choices, such as a Gaussian's, by the leaf's path."""
    leaves: Mapping[str, Any] = episode.spec.get("action", {})
    return {
        path: np.asarray(numbers, np.float32)
        for path, numbers in step.dist_inputs.items()
        if not leaves[path]["choices"]
    }


def _of_choices(
    leaf: Mapping[str, Any], numbers: NDArray[np.float32], mask: NDArray[np.bool_] | None
) -> NDArray[np.float32]:
    if mask is not None and not mask.any():
        mask = None
    if leaf["kind"] != EPSILON_GREEDY:
        log_probs = log_softmax(numbers[None], None if mask is None else mask[None])[0]
        return np.asarray(np.exp(log_probs), np.float32)
    values, chance = numbers[:-1], float(np.clip(numbers[-1], 0, 1))
    allowed = np.ones(values.shape, bool) if mask is None else mask
    found = np.where(allowed, chance / allowed.sum(), 0).astype(np.float32)
    found[np.where(allowed, values, -np.inf).argmax()] += 1 - chance
    return found
