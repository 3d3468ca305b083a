"""Categorical distribution over discrete actions, for acting (numpy) and for learning (torch)."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import numpy as np
from numpy.typing import NDArray

from app.models.distributions.distribution import Acted, Floats, Mask, OwnRandomness

if TYPE_CHECKING:
    from torch import Tensor

LOG_PROB_MIN: Final = -1e30
"""In place of -inf, whose product with a probability of 0 would be NaN; its exponential is exactly 0."""


@dataclass(frozen=True, slots=True)
class Categorical(OwnRandomness):
    """One of a number of choices; the network gives a logit for each."""

    choices: int
    shape: tuple[()] = ()
    dtype: Literal["int64"] = "int64"
    draws: Literal[1] = 1

    def __post_init__(self) -> None:
        if self.choices < 1:
            raise ValueError(f"a categorical action needs at least one choice, got {self.choices}")

    @property
    def inputs(self) -> int:
        """Logits of one action."""
        return self.choices

    def act(self, inputs: Floats, uniforms: NDArray[np.float64], mask: Mask | None) -> Acted:
        """Returns actions [B] for logits [B, choices], from a uniform number each, [B, 1]; NaN is greedy.

        Raises:
          ValueError: A row of the mask allows no choice.
        """
        log_probs = log_softmax(inputs, mask)
        actions = choose(log_probs, uniforms[:, 0])
        return Acted(actions, log_probs[np.arange(len(actions)), actions])

    def tempered(self, inputs: Floats, temperatures: Floats) -> Floats:
        """Returns logits [B, choices] divided by temperatures [B, 1]."""
        return inputs / temperatures

    def log_prob(self, inputs: "Tensor", action: "Tensor", mask: "Tensor | None") -> "Tensor":
        """Returns the log-probability of each action, [B], for logits [B, choices] and actions int64 [B]."""
        return _log_softmax(inputs, mask).gather(1, action[:, None]).squeeze(1)

    def entropy(self, inputs: "Tensor", mask: "Tensor | None") -> "Tensor":
        """Returns the entropy in nats, [B]."""
        log_probs = _log_softmax(inputs, mask)
        return -(log_probs.exp() * log_probs).sum(-1)

    def kl(self, inputs_p: "Tensor", inputs_q: "Tensor", mask: "Tensor | None") -> "Tensor":
        """Returns KL(p ‖ q) in nats, [B], under one mask."""
        log_p, log_q = _log_softmax(inputs_p, mask), _log_softmax(inputs_q, mask)
        return (log_p.exp() * (log_p - log_q)).sum(-1)


def log_softmax(logits: Floats, mask: NDArray[np.bool_] | None = None) -> Floats:
    """Returns log-probabilities, [B, A]; -inf where ``mask`` is False.

    Raises:
      ValueError: A row of the mask allows no action.
    """
    if mask is not None:
        if not mask.any(axis=1).all():
            raise ValueError("an action mask must allow at least one action in each row")
        logits = np.where(mask, logits, -np.inf).astype(np.float32)
    # Ufuncs by their own reductions: after a large network the caches are cold, and each layer of Python is dear.
    with np.errstate(over="ignore"):  # What is so far below the largest is -inf.
        shifted = np.subtract(logits, np.maximum.reduce(logits, 1, keepdims=True))
        sums = np.add.reduce(np.exp(shifted), 1, keepdims=True)
        found: Floats = np.subtract(shifted, np.log(sums, sums), shifted)
    return found


def choose(log_probs: Floats, uniforms: NDArray[np.float64]) -> NDArray[np.int64]:
    """Returns an action per row, [B], by inverting the distribution function.

    Args:
      log_probs: Log-probabilities, [B, A].
      uniforms: A number in [0, 1) per row, [B]; NaN takes the most probable action.
    """
    reached = np.add.accumulate(np.exp(log_probs, dtype=np.float64), 1)
    # By the sum, so that rounding never leaves the last action unreachable.
    beyond = np.less_equal(np.divide(reached, reached[:, -1:], reached), uniforms[:, None])
    chosen: NDArray[np.int64] = np.add.reduce(beyond, 1, np.int64)
    greedy = np.isnan(uniforms)
    return np.where(greedy, log_probs.argmax(axis=1), chosen) if np.logical_or.reduce(greedy) else chosen


def _log_softmax(logits: "Tensor", mask: "Tensor | None") -> "Tensor":
    allowed = logits if mask is None else logits.masked_fill(~mask, -math.inf)
    return allowed.log_softmax(-1).clamp(min=LOG_PROB_MIN)
