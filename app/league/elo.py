"""Elo ratings (Elo, 1978), with anchors that stay where they are."""

import math
from dataclasses import dataclass
from typing import Final

SCALE: Final = 400.0
"""Points at which the stronger one is expected to score ten times as much."""


@dataclass(frozen=True, slots=True)
class Elo:
    """How ratings follow results."""

    k: float = 16.0
    """Most points that one match moves."""

    def expected(self, rating: float, opponent: float) -> float:
        """Returns the score that a player is expected to make against an opponent, in (0, 1)."""
        return 1.0 / (1.0 + math.pow(10.0, (opponent - rating) / SCALE))

    def updated(
        self, home: float, away: float, score: float, *, home_fixed: bool = False, away_fixed: bool = False
    ) -> tuple[float, float]:
        """Returns both ratings after a match.

        Args:
          home: Rating of one side.
          away: Rating of the other.
          score: 1 where ``home`` won, 0 where it lost, 0.5 for a draw.
          home_fixed: Whether ``home`` is an anchor, whose rating stays.
          away_fixed: The same of ``away``.

        Raises:
          ValueError: The score lies outside [0, 1].
        """
        if not 0 <= score <= 1:
            raise ValueError(f"a match needs a score in [0, 1], got {score}")
        change = self.k * (score - self.expected(home, away))
        return (home if home_fixed else home + change), (away if away_fixed else away - change)
