"""Who plays what in one update, and what its returns mean; all of it follows from one seed and the update's number."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final, TypeVar

import numpy as np

from app.algorithms.evolution import Pair
from app.config.evolution import EvolutionConfig
from app.seeding import derive
from train.evolution.play import PRESENT, Candidate, Played, Share

SEEDS: Final = 2**31
"""Games take seeds below it."""

_T = TypeVar("_T")


def population(settings: EvolutionConfig, seed: int, updates: int) -> list[Share]:
    """Returns the shares of one update's tasks; its candidates play the same games, so that the weights alone differ.

    Args:
      settings: Sizes of population and shares.
      seed: The run's.
      updates: Updates done before.
    """
    games = tuple(derive(seed, "game", updates, number) % SEEDS for number in range(settings.games))
    seeds = [derive(seed, "noise", updates, number) for number in range(settings.pairs)]
    return [
        Share(tuple(Candidate(one, sign * settings.sigma) for one in some for sign in (1, -1)), games)
        for some in _cut(seeds, settings.tasks.pairs)
    ]


def pairs(shares: Sequence[Share], played: Sequence[Played]) -> list[Pair]:
    """Returns the mean returns of a population's pairs, in the order of its shares."""
    found = []
    for share, one in zip(shares, played, strict=True):
        means = [sum(returns) / len(returns) for returns in one.returns]
        seeds = [candidate.seed for candidate in share.candidates[::2]]
        found += [Pair(*three) for three in zip(seeds, means[::2], means[1::2], strict=True)]
    return found


def evaluation(settings: EvolutionConfig) -> list[Share]:
    """Returns the shares of an evaluation: games of the present weights, cut as a population is."""
    first = settings.evaluation.seed
    seeds = list(range(first, first + settings.evaluation.games))
    return [Share((PRESENT,), tuple(some)) for some in _cut(seeds, 2 * settings.tasks.pairs)]


def returns_of(played: Sequence[Played]) -> list[float]:
    """Returns the returns of all games, in the order of their shares."""
    return [value for one in played for returns in one.returns for value in returns]


def population_metrics(found: Sequence[Pair]) -> dict[str, float]:
    """Returns how a population did: mean, deviation and ends of its candidates' returns."""
    returns = np.array([(pair.return_plus, pair.return_minus) for pair in found])
    return {
        "mean_return": float(returns.mean()),
        "return_std": float(returns.std()),
        "return_min": float(returns.min()),
        "return_max": float(returns.max()),
    }


def _cut(items: Sequence[_T], size: int) -> Iterator[list[_T]]:
    rest = iter(items)
    while some := list(islice(rest, size)):
        yield some
