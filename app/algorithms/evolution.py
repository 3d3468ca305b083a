"""Evolution strategies (Salimans et al., 2017): a gradient out of the returns of perturbed weights."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from app.algorithms.stepper import Stepper
from app.errors import NonFiniteLossError

FEWEST_RETURNS: Final = 2
"""One return has no rank among others."""


class Pair(NamedTuple):
    """What came of weights that were moved by the same noise in both directions (antithetic sampling)."""

    seed: int
    """Of the noise, which whoever has the seed can draw again."""
    return_plus: float
    """Of the weights + sigma × noise."""
    return_minus: float
    """Of the weights - sigma × noise."""


def noise(seed: int, size: int) -> NDArray[np.float32]:
    """Returns the noise that a seed stands for, standard normal, [size]; the same wherever it is drawn."""
    return np.random.default_rng(seed).standard_normal(size, dtype=np.float32)


def centred_ranks(returns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns each return's rank among all of them, from -0.5 for the least to 0.5 for the largest, [N].

    Equal returns share the mean of their ranks, so that no order of the population is preferred.

    Raises:
      ValueError: There are fewer than two, or one is not finite.
    """
    if returns.ndim != 1 or returns.size < FEWEST_RETURNS or not np.all(np.isfinite(returns)):
        raise ValueError(f"ranks need at least {FEWEST_RETURNS} finite returns, got {returns}")
    _, place, counts = np.unique(returns, return_inverse=True, return_counts=True)
    ranks = np.cumsum(counts) - (counts + 1) / 2
    centred: NDArray[np.float64] = ranks[place] / (returns.size - 1) - 0.5
    return centred


def gradient(pairs: Sequence[Pair], sigma: float, size: int) -> NDArray[np.float32]:
    """Returns the estimated gradient of the expected rank, [size]: 1/(2nσ) Σᵢ (u⁺ᵢ - u⁻ᵢ) εᵢ.

    Args:
      pairs: The population, n of them.
      sigma: Deviation of the weights.
      size: Number of weights.

    Raises:
      ValueError: There is no pair, sigma is not positive, or a return is not finite.
    """
    if not pairs or not sigma > 0:
        raise ValueError(f"a gradient needs a pair and a positive sigma, got {len(pairs)} pairs and sigma {sigma:g}")
    ranks = centred_ranks(np.array([(pair.return_plus, pair.return_minus) for pair in pairs]).reshape(-1))
    total = np.zeros(size)
    for pair, (plus, minus) in zip(pairs, ranks.reshape(-1, 2), strict=True):
        if plus != minus:
            total += (plus - minus) * noise(pair.seed, size)
    return (total / (2 * len(pairs) * sigma)).astype(np.float32)


def surrogate(weights: Tensor, ascent: Tensor, weight_decay: float) -> Tensor:
    """Returns a loss that goes down where the expected rank goes up; its gradient is -ascent + weight_decay × weights.

    Args:
      weights: As they are, [N].
      ascent: Estimated gradient of what is maximised, [N].
      weight_decay: How much small weights are preferred.
    """
    return -(weights @ ascent) + 0.5 * weight_decay * (weights @ weights)


def update(
    stepper: Stepper, parameters: Sequence[nn.Parameter], pairs: Sequence[Pair], sigma: float, weight_decay: float
) -> dict[str, float]:
    """Moves the weights by what a population returned, and returns what is to be told of it.

    Args:
      stepper: Changes the parameters.
      parameters: Those that were perturbed, in the order in which noise is laid over them.
      pairs: The population.
      sigma: Deviation of its weights.
      weight_decay: How much small weights are preferred.

    Raises:
      ValueError: There is no pair, or a return is not finite.
      NonFiniteLossError: The weights have no finite norm; they stay as they are.
    """
    weights = nn.utils.parameters_to_vector(parameters)
    ascent = gradient(pairs, sigma, weights.numel())
    norm = stepper.step(surrogate(weights, torch.from_numpy(ascent), weight_decay))
    if norm is None or not np.isfinite(norm):
        raise NonFiniteLossError(
            f"the gradient norm is {norm}; the weights before this step are good. Lower learning rate or weight "
            "decay of the evolution"
        )
    return {"grad_norm": norm, "weights_norm": float(weights.detach().norm())}
