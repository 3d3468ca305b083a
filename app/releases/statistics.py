"""What versions did: counters that add up over replicas."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

from app.types import Version


class Cohort(NamedTuple):
    """Sessions that are compared: those of one version that began while the same challenger was tried.

    Games that began earlier are left out, since of the challenger's first games the short ones end first.
    """

    version: Version
    challenger: Version | None
    """What was tried when they began; None while nothing was."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """What one version did in games."""

    starts: int = 0
    """Sessions that began on it."""
    games: int = 0
    """Episodes of which the return is known."""
    ticks: int = 0
    """Ticks that it was asked for, answered or not."""
    errors: int = 0
    """Ticks that the agent or the model failed to answer."""
    deadline_misses: int = 0
    """Ticks whose time was up before there was an answer."""
    return_sum: float = 0.0
    return_squares: float = 0.0
    """Sum of the squares of the returns."""

    def __add__(self, other: "Statistics") -> "Statistics":
        return Statistics(*(mine + theirs for mine, theirs in zip(self.values(), other.values(), strict=True)))

    def values(self) -> tuple[Any, ...]:
        """Returns the counters in order."""
        return (
            self.starts, self.games, self.ticks, self.errors, self.deadline_misses,
            self.return_sum, self.return_squares,
        )  # fmt: skip

    @classmethod
    def of_game(cls, returned: float) -> Self:
        """Returns one finished game; one whose return is infinite or NaN counts for nothing."""
        return (
            cls(games=1, return_sum=returned, return_squares=returned * returned)
            if math.isfinite(returned * returned)
            else cls()
        )

    @property
    def mean_return(self) -> float | None:
        """Mean return; None before the first game."""
        return self.return_sum / self.games if self.games else None

    @property
    def return_moments(self) -> tuple[float, float, int]:
        """Mean, unbiased variance and count of the returns; at least 2 games."""
        mean = self.return_sum / self.games
        variance = (self.return_squares - self.games * mean**2) / (self.games - 1)
        return mean, max(0.0, variance), self.games

    def as_dict(self) -> dict[str, Any]:
        """Returns what an operator is shown."""
        return {
            "starts": self.starts,
            "games": self.games,
            "ticks": self.ticks,
            "errors": self.errors,
            "deadline_misses": self.deadline_misses,
            "mean_return": self.mean_return,
        }


@dataclass(frozen=True, slots=True)
class ShadowStatistics:
    """How a shadow's answers compare with those that were sent."""

    compared: int = 0
    agreed: int = 0
    """Comparisons in which it took the same action."""
    failed: int = 0
    """Observations to which it had no answer, or none that is finite."""
    dropped: int = 0
    """Observations that it was not asked, since it was behind."""
    value_difference: float = 0.0
    """Sum of the absolute differences of the values."""

    def __add__(self, other: "ShadowStatistics") -> "ShadowStatistics":
        return ShadowStatistics(
            self.compared + other.compared,
            self.agreed + other.agreed,
            self.failed + other.failed,
            self.dropped + other.dropped,
            self.value_difference + other.value_difference,
        )

    @property
    def asked(self) -> int:
        """Observations that it was asked."""
        return self.compared + self.failed

    def as_dict(self) -> dict[str, Any]:
        """Returns what an operator is shown."""
        return {
            "compared": self.compared,
            "failed": self.failed,
            "dropped": self.dropped,
            "agreement": self.agreed / self.compared if self.compared else None,
            "mean_value_difference": self.value_difference / self.compared if self.compared else None,
        }
