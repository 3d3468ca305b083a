"""Confidence bounds for rates and for differences of means."""

import math
from statistics import NormalDist
from typing import NamedTuple


class Interval(NamedTuple):
    """Lower and upper bound."""

    low: float
    high: float


def quantile(chance: float) -> float:
    """Returns how many standard errors a one-sided bound lies away that is wrong with a chance in (0, 0.5]."""
    return NormalDist().inv_cdf(1 - chance)


def wilson(successes: float, trials: int, z: float) -> Interval:
    """Returns bounds of a rate (Wilson 1927, https://doi.org/10.2307/2276774).

    Args:
      successes: How often it happened, in [0, trials].
      trials: How often it could have, at least 1.
      z: Standard errors on either side.

    Raises:
      ValueError: The counts are none.
    """
    if trials < 1 or not 0 <= successes <= trials:
        raise ValueError(f"a rate needs 0 <= successes <= trials and a trial, got {successes} of {trials}")
    rate, square = successes / trials, z * z / trials
    centre = (rate + square / 2) / (1 + square)
    half = z / (1 + square) * math.sqrt(rate * (1 - rate) / trials + square / (4 * trials))
    return Interval(max(0.0, centre - half), min(1.0, centre + half))


def mean_bounds(mean: float, variance: float, count: int, z: float) -> Interval:
    """Returns bounds of a mean: ``z`` standard errors on either side."""
    half = z * math.sqrt(max(0.0, variance) / count)
    return Interval(mean - half, mean + half)


def difference_bounds(first: tuple[float, float, int], second: tuple[float, float, int], z: float) -> Interval:
    """Returns bounds of the first mean less the second (Welch 1947, https://doi.org/10.2307/2332510).

    Args:
      first: Mean, variance and count.
      second: Mean, variance and count.
      z: Standard errors on either side.
    """
    (mean, variance, count), (other_mean, other_variance, other_count) = first, second
    half = z * math.sqrt(max(0.0, variance) / count + max(0.0, other_variance) / other_count)
    return Interval(mean - other_mean - half, mean - other_mean + half)
