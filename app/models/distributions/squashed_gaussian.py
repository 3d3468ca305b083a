"""Gaussian distribution pressed into bounds by tanh (Haarnoja et al., 2018), https://arxiv.org/abs/1801.01290."""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from app.models.distributions.distribution import Acted, Floats, Mask, OwnRandomness
from app.models.distributions.gaussian import (
    Z_MAX,
    check_shape,
    halves,
    log_density,
    log_normal,
    normal_entropy,
    normal_kl,
    quantiles,
    split,
    widened,
)

if TYPE_CHECKING:
    from torch import Tensor

Bound = float | tuple[float, ...]

_EDGE: Final = 1 - 2.0**-24
"""Largest place in (-1, 1) that is told from the bound: float32 has none between it and 1."""
_LOG_2: Final = math.log(2)
_NODES: Final = 32
"""Points of the Gauss-Hermite quadrature; its error is below 1e-3 for standard deviations up to 2."""


class _Range(NamedTuple):
    """Bounds of each number, [n]."""

    low: NDArray[np.float64]
    span: NDArray[np.float64]
    lowest: NDArray[np.float32]
    """Smallest float32 that is not below ``low``."""
    highest: NDArray[np.float32]


class Sampled(NamedTuple):
    """Actions with a gradient."""

    action: "Tensor"
    """[B, *shape]."""
    log_prob: "Tensor"
    """[B]."""


@dataclass(frozen=True, slots=True)
class SquashedGaussian(OwnRandomness):
    """Real numbers within bounds; the network gives means and logarithms of standard deviations before the tanh."""

    low: Bound
    """Smallest action: one for all numbers, or one for each in the order of a flat array."""
    high: Bound
    shape: tuple[int, ...] = ()
    dtype: Literal["float32"] = "float32"
    choices: Literal[0] = 0

    def __post_init__(self) -> None:
        check_shape("squashed gaussian", self.shape)
        for bound in (self.low, self.high):
            if isinstance(bound, tuple) and len(bound) != self.draws:
                raise ValueError(f"bounds {self.low} and {self.high} do not fit an action of shape {self.shape}")
        bounds = self._range()
        if not (np.isfinite(bounds.span).all() and (bounds.lowest < bounds.highest).all()):
            raise ValueError(f"a squashed gaussian needs finite bounds, low < high, got {self.low} and {self.high}")

    @property
    def inputs(self) -> int:
        """Mean and logarithm of the standard deviation of each number."""
        return 2 * math.prod(self.shape)

    @property
    def draws(self) -> int:
        """One for each number."""
        return math.prod(self.shape)

    def act(self, inputs: Floats, uniforms: NDArray[np.float64], mask: Mask | None) -> Acted:
        """Returns actions [B, *shape] for inputs [B, 2 n]; NaN takes the one of the mean."""
        mean, log_std = halves(inputs)
        bounds = self._range()
        place = np.tanh(mean + np.exp(log_std) * quantiles(uniforms))
        exact = bounds.low + bounds.span * (0.5 * (place + 1))
        actions = np.clip(exact.astype(np.float32), bounds.lowest, bounds.highest)
        # Of the action as it is stored, rounded: so it is what the learner will find.
        x = np.arctanh(np.clip((actions - bounds.low) / bounds.span * 2 - 1, -_EDGE, _EDGE))
        with np.errstate(invalid="ignore"):  # A row that is NaN is found by who asked, and spoils no other.
            steepness = 2 * (_LOG_2 - x - np.logaddexp(0, -2 * x)) + np.log(bounds.span / 2)
        log_probs = (log_density(x, mean, log_std) - steepness).sum(axis=1)
        return Acted(actions.reshape(len(inputs), *self.shape), log_probs.astype(np.float32))

    def tempered(self, inputs: Floats, temperatures: Floats) -> Floats:
        """Returns inputs [B, 2 n]; temperatures [B, 1] are those of the distribution before the tanh."""
        return widened(inputs, temperatures)

    def log_prob(self, inputs: "Tensor", action: "Tensor", mask: "Tensor | None") -> "Tensor":
        """Returns the logarithm of the density at each action, [B], for actions float32 [B, *shape].

        An action at a bound counts as the nearest one that float32 tells from it.
        """
        mean, log_std = split(inputs)
        low, span = self._tensors(action)
        flat = action.flatten(1) if self.shape else action[:, None]
        # In float64, since near a bound most digits of a float32 are gone.
        x = ((flat.double() - low) / span * 2 - 1).clamp(-_EDGE, _EDGE).atanh()
        corrected = log_normal(x, mean.double(), log_std.double()) - _log_steepness(x) - (span / 2).log()
        return corrected.sum(-1).to(inputs.dtype)

    def entropy(self, inputs: "Tensor", mask: "Tensor | None") -> "Tensor":
        """Returns the differential entropy in nats, [B], by Gauss-Hermite quadrature: there is no closed form."""
        mean, log_std = split(inputs)
        nodes, weights = _hermite()
        _, span = self._tensors(inputs)
        x = mean[..., None] + log_std.exp()[..., None] * mean.new_tensor(nodes)
        stretched = (_log_steepness(x.clamp(-Z_MAX, Z_MAX)) * mean.new_tensor(weights)).sum(-1) + (span / 2).log().to(
            mean.dtype
        )
        return (normal_entropy(log_std) + stretched).sum(-1)

    def kl(self, inputs_p: "Tensor", inputs_q: "Tensor", mask: "Tensor | None") -> "Tensor":
        """Returns KL(p ‖ q) in nats, [B]: that before the tanh, which maps both alike."""
        return normal_kl(inputs_p, inputs_q)

    def sample(self, inputs: "Tensor", normal: "Tensor") -> Sampled:
        """Returns actions and their log-probability, both with a gradient through the inputs.

        Args:
          inputs: What the network gives, [B, 2 n].
          normal: Standard normal numbers, [B, n]; zeros give the actions of the means.
        """
        mean, log_std = split(inputs)
        low, span = (x.to(inputs.dtype) for x in self._tensors(inputs))
        x = mean + log_std.exp() * normal
        action = low + span * (0.5 * (x.tanh() + 1))
        log_prob = log_normal(x, mean, log_std) - _log_steepness(x) - (span / 2).log()
        return Sampled(action.reshape(-1, *self.shape), log_prob.sum(-1))

    def bounds(self, like: "Tensor") -> "tuple[Tensor, Tensor]":
        """Returns the smallest and largest action, each of the action's shape, on the device of a tensor."""
        low, span = (x.reshape(self.shape).to(like.dtype) for x in self._tensors(like))
        return low, low + span

    @property
    def log_half_range(self) -> float:
        """Sum of the logarithms of half the range of each number."""
        return float(np.log(self._range().span / 2).sum())

    def _range(self) -> _Range:
        return _range(self.low, self.high, self.draws)

    def _tensors(self, like: "Tensor") -> "tuple[Tensor, Tensor]":
        """Returns low and span, float64 [n], on the device of a tensor."""
        bounds = self._range()
        made = like.detach().double()
        return made.new_tensor(bounds.low), made.new_tensor(bounds.span)


@lru_cache
def _range(low: Bound, high: Bound, numbers: int) -> _Range:
    below, above = (np.broadcast_to(np.asarray(bound, np.float64), (numbers,)) for bound in (low, high))
    with np.errstate(over="ignore"):  # An infinite bound is refused by who asked.
        lowest, highest = below.astype(np.float32), above.astype(np.float32)
    up, down = np.float32(np.inf), np.float32(-np.inf)
    lowest = np.where(lowest < below, np.nextafter(lowest, up), lowest)
    highest = np.where(highest > above, np.nextafter(highest, down), highest)
    return _Range(below, above - below, lowest, highest)


@lru_cache
def _hermite() -> tuple[list[float], list[float]]:
    """Returns nodes and weights of the expectation under the standard normal distribution."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    return nodes.tolist(), (weights / weights.sum()).tolist()


def _log_steepness(x: "Tensor") -> "Tensor":
    """Returns log(1 - tanh(x)²), which is finite wherever x is."""
    softplus = (-2 * x).clamp(min=0) + (-(2 * x).abs()).exp().log1p()
    return 2 * (_LOG_2 - x - softplus)
