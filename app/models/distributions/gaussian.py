"""Gaussian distribution over real numbers, each independent, for acting (numpy) and for learning (torch)."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from app.models.distributions.distribution import Acted, Floats, Mask, OwnRandomness

if TYPE_CHECKING:
    from torch import Tensor

LOG_STD_MIN: Final = -10.0
"""A narrower density would be decided by the rounding of float32."""
LOG_STD_MAX: Final = 5.0
Z_MAX: Final = 1e15
"""Deviations whose square float32 still holds, with a sum over many of them."""
_U_MIN: Final = 2.0**-54
"""In place of 0, whose normal quantile is infinite: half of the smallest number that is drawn."""
_LOG_SQRT_2PI: Final = 0.5 * math.log(2 * math.pi)


@dataclass(frozen=True, slots=True)
class Gaussian(OwnRandomness):
    """Real numbers without bounds; the network gives all means and behind them all logarithms of standard deviations.

    Whether a standard deviation depends on the observation is the network's choice: it may give the same parameter to
    every row. Logarithms are clamped to ``LOG_STD_MIN`` and ``LOG_STD_MAX``.
    """

    shape: tuple[int, ...] = ()
    dtype: Literal["float32"] = "float32"
    choices: Literal[0] = 0

    def __post_init__(self) -> None:
        check_shape("gaussian", self.shape)

    @property
    def inputs(self) -> int:
        """Mean and logarithm of the standard deviation of each number."""
        return 2 * math.prod(self.shape)

    @property
    def draws(self) -> int:
        """One for each number."""
        return math.prod(self.shape)

    def act(self, inputs: Floats, uniforms: NDArray[np.float64], mask: Mask | None) -> Acted:
        """Returns actions [B, *shape] for inputs [B, 2 n] by the inverse distribution function; NaN takes the mean."""
        mean, log_std = halves(inputs)
        actions = (mean + np.exp(log_std) * quantiles(uniforms)).astype(np.float32)
        # Of the action as it is stored, rounded: so it is what the learner will find.
        log_probs = log_density(actions.astype(np.float64), mean, log_std).sum(axis=1)
        return Acted(actions.reshape(len(inputs), *self.shape), log_probs.astype(np.float32))

    def tempered(self, inputs: Floats, temperatures: Floats) -> Floats:
        """Returns inputs [B, 2 n] of variances times temperatures [B, 1]: a normal density to a power is one."""
        return widened(inputs, temperatures)

    def log_prob(self, inputs: "Tensor", action: "Tensor", mask: "Tensor | None") -> "Tensor":
        """Returns the logarithm of the density at each action, [B], for actions float32 [B, *shape]."""
        mean, log_std = split(inputs)
        return log_normal(action.flatten(1) if self.shape else action[:, None], mean, log_std).sum(-1)

    def entropy(self, inputs: "Tensor", mask: "Tensor | None") -> "Tensor":
        """Returns the differential entropy in nats, [B]; it may be negative."""
        return normal_entropy(split(inputs)[1]).sum(-1)

    def kl(self, inputs_p: "Tensor", inputs_q: "Tensor", mask: "Tensor | None") -> "Tensor":
        """Returns KL(p ‖ q) in nats, [B]."""
        return normal_kl(inputs_p, inputs_q)


def check_shape(kind: str, shape: tuple[int, ...]) -> None:
    """Does nothing where all sizes are positive.

    Raises:
      ValueError: One is not.
    """
    if any(size < 1 for size in shape):
        raise ValueError(f"a {kind} action needs positive sizes, got {shape}")


def halves(inputs: Floats) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Returns means and clamped logarithms of standard deviations, each [B, n], of inputs [B, 2 n]."""
    mean, log_std = np.split(inputs.astype(np.float64), 2, axis=1)
    return mean, np.clip(log_std, LOG_STD_MIN, LOG_STD_MAX)


def widened(inputs: Floats, temperatures: Floats) -> Floats:
    """Returns means and logarithms of standard deviations, [B, 2 n], of variances multiplied by temperatures [B, 1]."""
    mean, log_std = halves(inputs)
    return np.concatenate([mean, log_std + 0.5 * np.log(temperatures)], axis=1).astype(np.float32)


def quantiles(uniforms: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns standard normal numbers for uniform ones in [0, 1); 0 for NaN."""
    found: NDArray[np.float64] = ndtri(np.maximum(uniforms, _U_MIN))
    return np.where(np.isnan(uniforms), 0.0, found)


def log_density(x: NDArray[np.float64], mean: NDArray[np.float64], log_std: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns the logarithm of the normal density of each number."""
    z = np.clip((x - mean) * np.exp(-log_std), -Z_MAX, Z_MAX)
    found: NDArray[np.float64] = -0.5 * z * z - log_std - _LOG_SQRT_2PI
    return found


def split(inputs: "Tensor") -> "tuple[Tensor, Tensor]":
    """Returns means and clamped logarithms of standard deviations, each [B, n], of inputs [B, 2 n]."""
    mean, log_std = inputs.chunk(2, dim=-1)
    return mean, log_std.clamp(LOG_STD_MIN, LOG_STD_MAX)


def log_normal(x: "Tensor", mean: "Tensor", log_std: "Tensor") -> "Tensor":
    """Returns the logarithm of the normal density of each number."""
    z = ((x - mean) * (-log_std).exp()).clamp(-Z_MAX, Z_MAX)
    return -0.5 * z.square() - log_std - _LOG_SQRT_2PI


def normal_entropy(log_std: "Tensor") -> "Tensor":
    """Returns the entropy of each normal number."""
    return log_std + (0.5 + _LOG_SQRT_2PI)


def normal_kl(inputs_p: "Tensor", inputs_q: "Tensor") -> "Tensor":
    """Returns KL(p ‖ q) of independent normal numbers, [B], for inputs [B, 2 n]."""
    (mean_p, log_std_p), (mean_q, log_std_q) = split(inputs_p), split(inputs_q)
    z = ((mean_p - mean_q) * (-log_std_q).exp()).clamp(-Z_MAX, Z_MAX)
    ratio = (2 * (log_std_p - log_std_q)).exp()
    return (log_std_q - log_std_p + 0.5 * (ratio + z.square() - 1)).sum(-1)
