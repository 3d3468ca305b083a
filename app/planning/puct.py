"""The formulas of AlphaZero's search (Silver et al., 2018), https://doi.org/10.1126/science.aar6404."""

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def exploration_rate(visits: float, init: float, base: float) -> float:
    """Returns C(s) = log((1 + N(s) + base) / base) + init, which grows slowly with the visits of a position."""
    return math.log((1 + visits + base) / base) + init


def puct(priors: Floats, visits: Floats, totals: Floats, rate: float) -> Floats:
    """Returns Q(s, a) + C(s) P(s, a) √N(s) / (1 + N(s, a)) of each action, [A].

    N(s) = 1 + Σ N(s, a): the evaluation of a position is its first visit, so the first action follows the priors. An
    action that was never tried has Q = 0.

    Args:
      priors: P(s, a), 0 where an action is not legal, [A].
      visits: N(s, a), [A].
      totals: W(s, a), sums of outcomes as the mover sees them, [A].
      rate: C(s).
    """
    means = totals / np.maximum(visits, 1)
    found: Floats = means + rate * math.sqrt(1 + visits.sum()) * priors / (1 + visits)
    return found


def legal_priors(priors: NDArray[np.floating], legal: NDArray[np.bool_]) -> Floats:
    """Returns priors that are 0 where an action is not legal and add up to 1, [A]; alike where none is left."""
    left = np.where(legal, priors, 0).astype(np.float64)
    weights = left if left.any() else legal.astype(np.float64)
    found: Floats = weights / weights.sum()
    return found


def noisy_priors(
    priors: Floats, legal: NDArray[np.bool_], alpha: float, share: float, rng: np.random.Generator
) -> Floats:
    """Returns (1 - ε) P + ε η, η ~ Dir(α) over the legal actions, [A].

    Args:
      priors: P of the root, [A].
      legal: Which actions get noise, [A].
      alpha: α; the paper takes about 10 divided by the usual number of legal actions.
      share: ε.
      rng: Draws the noise.
    """
    noise = np.zeros_like(priors)
    noise[legal] = rng.dirichlet(np.full(int(legal.sum()), alpha))
    return (1 - share) * priors + share * noise


def visit_policy(visits: Floats, temperature: float) -> Floats:
    """Returns π(a) ∝ N(a)^(1 / temperature), [A]; temperature 0 takes the most visited action, the first of equals.

    Raises:
      ValueError: No action was visited, or the temperature is negative.
    """
    if temperature < 0 or not visits.any():
        raise ValueError(
            f"visits are {visits} and temperature is {temperature}; allowed are visits not all 0, and at least 0"
        )
    if temperature == 0:
        policy = np.zeros_like(visits)
        policy[visits.argmax()] = 1
        return policy
    # By the largest, so that a low temperature overflows nothing.
    powers = (visits / visits.max()) ** (1 / temperature)
    found: Floats = powers / powers.sum()
    return found
