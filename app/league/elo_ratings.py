"""Elo ratings of all players, with their error.

Each pair of sides is a match of its own, and one of n sides moves a rating by the mean over its n - 1 pairs. With
s = 400 / ln 10, q = p(1 - p) for the expected score p and gain a = K·q / s, an error of variance v becomes one of
(1 - a)²·v + a²·v' + K²·q, of which v' is the opponent's: the linearised error of Elo's own step.
"""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from app.league.elo import SCALE, Elo
from app.league.matches import pair_score
from app.league.payoff import PlayerId
from app.league.ratings import KeptRatings, Placed, Rating

UNKNOWN: Final = Rating(1000.0, 350.0)
"""A player of whom nothing is known; the deviation is Glicko's (Glickman, 1999)."""
SLOPE: Final = SCALE / math.log(10.0)


class EloRatings(KeptRatings):
    """Elo (1978): each result moves the ratings of those who met by how much it was not expected."""

    def __init__(self, elo: Elo | None = None) -> None:
        super().__init__(UNKNOWN)
        self._elo = elo or Elo()

    def record(self, sides: Sequence[Placed]) -> None:
        """Moves the ratings of those who met; see ``Ratings``."""
        before = {side.player: self._kept[side.player] for side in sides}
        moved: dict[PlayerId, list[Rating]] = {player: [] for player in before}
        for place, side in enumerate(sides):
            for at, other in enumerate(sides):
                if at != place and other.player != side.player:
                    score = pair_score(side.score, other.score)
                    rating = self._moved(before[side.player].rating, before[other.player].rating, score)
                    moved[side.player].append(rating)
        self._move(moved)

    def expected(self, player: PlayerId, opponents: Sequence[PlayerId]) -> NDArray[np.float64]:
        """Returns what a player is expected to score against each opponent; see ``Ratings``."""
        means = np.array([self._kept[opponent].rating.mean for opponent in opponents], np.float64)
        chances: NDArray[np.float64] = 1.0 / (1.0 + np.exp((means - self._kept[player].rating.mean) / SLOPE))
        return chances

    def _moved(self, own: Rating, other: Rating, score: float) -> Rating:
        mean, _ = self._elo.updated(own.mean, other.mean, score)
        expected = self._elo.expected(own.mean, other.mean)
        chance = expected * (1 - expected)
        gain = self._elo.k * chance / SLOPE
        variance = (1 - gain) ** 2 * own.deviation**2 + gain**2 * other.deviation**2 + self._elo.k**2 * chance
        return Rating(mean, math.sqrt(variance))
