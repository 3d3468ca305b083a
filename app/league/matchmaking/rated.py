"""Opponents by ratings: equals, and those of whom least is known."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.league.matchmaking.matchmaker import Probabilities, check_candidates
from app.league.payoff import Payoff, PlayerId
from app.league.ratings import Ratings


@dataclass(frozen=True, slots=True)
class EloMatched:
    """Equals by rating (Jaderberg et al., 2019), https://arxiv.org/abs/1807.01281.

    P(opponent) ∝ exp(-(p - 1/2)² / 2σ²), with p the score that the ratings expect.
    """

    ratings: Ratings
    sigma: float = 1 / 6

    def __post_init__(self) -> None:
        if self.sigma <= 0:
            raise ValueError(f"matching by rating needs a positive sigma, got {self.sigma}")

    def probabilities(self, player: PlayerId, candidates: Sequence[PlayerId], payoff: Payoff) -> Probabilities:
        """Returns the probability of each candidate, [N]."""
        check_candidates(candidates)
        distances = (self.ratings.expected(player, candidates) - 0.5) ** 2
        return _shares(np.exp((distances.min() - distances) / (2 * self.sigma**2)))  # The closest one is 1, never 0.


@dataclass(frozen=True, slots=True)
class LeastKnown:
    """Pairs whose next result says most: p(1 - p) / (n + 1), the variance of a win rate after n matches.

    p is the score that the ratings expect.
    """

    ratings: Ratings

    def probabilities(self, player: PlayerId, candidates: Sequence[PlayerId], payoff: Payoff) -> Probabilities:
        """Returns the probability of each candidate, [N]."""
        check_candidates(candidates)
        expected = self.ratings.expected(player, candidates)
        doubt = expected * (1 - expected) / (payoff.games_with(player, candidates) + 1.0)
        if doubt.sum() <= 0:  # All results are certain.
            return np.full(len(candidates), 1 / len(candidates))
        return _shares(doubt)


def _shares(weights: Probabilities) -> Probabilities:
    shares: Probabilities = np.divide(weights, weights.sum())
    return shares
