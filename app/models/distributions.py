"""Categorical distribution over discrete actions, for acting (numpy) and for learning (torch)."""

from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from torch import Tensor

Floats = NDArray[np.float32]

LOWEST: Final = float(np.finfo(np.float32).min)


def log_softmax(logits: Floats, mask: NDArray[np.bool_] | None = None) -> Floats:
    """Returns log-probabilities, [B, A]; -inf where ``mask`` is False.

    Raises:
      ValueError: A row of the mask allows no action.
    """
    if mask is not None:
        if not mask.any(axis=1).all():
            raise ValueError("an action mask must allow at least one action in each row")
        logits = np.where(mask, logits, -np.inf).astype(np.float32)
    shifted = logits - logits.max(axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True)), np.float32)


def choose(log_probs: Floats, uniforms: NDArray[np.float64]) -> NDArray[np.int64]:
    """Returns an action per row, [B], by inverting the distribution function.

    Args:
      log_probs: Log-probabilities, [B, A].
      uniforms: A number in [0, 1) per row, [B]; NaN takes the most probable action.
    """
    greedy = log_probs.argmax(axis=1)
    reached = np.exp(log_probs.astype(np.float64)).cumsum(axis=1)
    reached /= reached[:, -1:]  # So that rounding never leaves the last action unreachable.
    sampled = (reached <= uniforms[:, None]).sum(axis=1)
    chosen: NDArray[np.int64] = np.where(np.isnan(uniforms), greedy, sampled).astype(np.int64)
    return chosen


def log_prob_and_entropy(logits: "Tensor", action: "Tensor", mask: "Tensor") -> "tuple[Tensor, Tensor]":
    """Returns the log-probability of each action, [B], and the entropy of each row, [B].

    Args:
      logits: Unnormalised log-probabilities, [B, A].
      action: Actions, int64 [B].
      mask: False where an action was not allowed, bool [B, A].
    """
    # The lowest finite number and not -inf, whose product with a probability of 0 would be NaN.
    log_probs = logits.masked_fill(~mask, LOWEST).log_softmax(-1)
    taken = log_probs.gather(1, action[:, None]).squeeze(1)
    return taken, -(log_probs.exp() * log_probs).sum(-1)
