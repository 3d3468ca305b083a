"""OpenSkill ratings: Bayesian, for any number of sides (Weng and Lin, 2011, Plackett-Luce model).

https://www.jmlr.org/papers/v12/weng11a.html. A strength is a normal distribution; those that learn become a little less
certain with each match (τ), those that are frozen do not.
"""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray
from openskill.models import PlackettLuce
from scipy.special import ndtr

from app.league.payoff import PlayerId
from app.league.ratings import Kept, KeptRatings, Moves, Placed, Rating, meets_another

UNKNOWN: Final = Rating(25.0, 25.0 / 3)
"""A player of whom nothing is known; the system's own numbers."""
BETA: Final = 25.0 / 6
"""Deviation of what a player shows in one match; the system's own number."""
TAU: Final = 25.0 / 300
"""Deviation that a player who learns gains with each match; the system's own number."""
CERTAIN: Final = 1e-6
"""Deviation that a fixed rating is calculated with: the model divides by it."""


class OpenSkillRatings(KeptRatings):
    """Ratings by the Plackett-Luce model."""

    def __init__(self) -> None:
        super().__init__(UNKNOWN)
        self._model = PlackettLuce(mu=UNKNOWN.mean, sigma=UNKNOWN.deviation, beta=BETA, tau=0.0)

    def record(self, sides: Sequence[Placed]) -> None:
        """Moves the ratings of those who met; see ``Ratings``.

        A player on several sides gets the mean of what each of them comes to.
        """
        if not meets_another(sides):
            return
        before = [self._prior(self._kept[side.player]) for side in sides]
        teams = [[self._model.rating(rating.mean, max(rating.deviation, CERTAIN))] for rating in before]
        after = self._model.rate(teams, scores=[side.score for side in sides])
        moved: dict[PlayerId, list[Rating]] = {}
        for side, (rated,) in zip(sides, after, strict=True):
            moved.setdefault(side.player, []).append(Rating(rated.mu, rated.sigma))
        self._move(moved)

    def expected(self, player: PlayerId, opponents: Sequence[PlayerId]) -> NDArray[np.float64]:
        """Returns the chance that a player shows more than each opponent; see ``Ratings``."""
        own, others = self._kept[player].rating, [self._kept[opponent].rating for opponent in opponents]
        means = np.array([other.mean for other in others], np.float64)
        variances = np.square(np.array([other.deviation for other in others], np.float64))
        chances: NDArray[np.float64] = ndtr((own.mean - means) / np.sqrt(2 * BETA**2 + own.deviation**2 + variances))
        return chances

    def _prior(self, kept: Kept) -> Rating:
        if kept.moves is not Moves.LEARNS:
            return kept.rating
        return Rating(kept.rating.mean, math.hypot(kept.rating.deviation, TAU))
