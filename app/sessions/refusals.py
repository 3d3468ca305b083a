"""Refusals at the door: counted by key and reason, and told once a minute."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NoReturn

from app.errors import StepError

NOTICE_EVERY_S: Final = 60.0
"""Seconds between two notices of the same key and reason: enough to notice, too few to flood a log."""
NOBODY: Final = "(none)"
"""Stands for the name of a key where none is known."""


class Reason(StrEnum):
    """Why a step was refused."""

    NO_KEY = "no_key"
    CREDENTIALS = "credentials"
    """The key is unknown or the token wrong."""
    TIME = "time"
    """The token is good, its time is not."""
    PURPOSE = "purpose"
    SESSION = "session"
    """The session is another key's."""
    RATE = "rate"
    """More steps than the quota."""
    SESSIONS = "sessions"
    """More open sessions than the quota."""
    EXCHANGE = "exchange"
    """Two replicas do not have the same keys at this moment."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """What a log should know of refusals."""

    key: str
    """Name of the key; ``(none)`` where none is known."""
    reason: Reason
    count: int
    """Refusals of this key for this reason since the last notice, this one included."""
    message: str
    """What the client was told this time."""


class Refusals:
    """Refuses, counts it, and gives notice of the first refusal of each key and reason in a minute."""

    def __init__(self, notice: Callable[[Refusal], None]) -> None:
        self._notice = notice
        self._counts: Counter[tuple[str, Reason]] = Counter()
        self._noticed: dict[tuple[str, Reason], tuple[float, int]] = {}
        """When the last notice was, and how many refusals there had been."""

    def refuse(self, key: str, reason: Reason, error: StepError, now_s: float) -> NoReturn:
        """Counts a refusal and raises its error.

        Args:
          key: Name of the key; ``(none)`` where none is known.
          reason: Why.
          error: What the client is told.
          now_s: Seconds of any clock, the same for all refusals of one reason.

        Raises:
          StepError: The one that is given.
        """
        self._count(key, reason, str(error), now_s)
        raise error

    def of(self, key: str) -> dict[Reason, int]:
        """Returns the refusals of a key by reason."""
        return {reason: count for (name, reason), count in self._counts.items() if name == key}

    def _count(self, key: str, reason: Reason, message: str, now_s: float) -> None:
        kind = key, reason
        self._counts[kind] += 1
        noticed_s, noticed = self._noticed.get(kind, (float("-inf"), 0))
        if abs(now_s - noticed_s) < NOTICE_EVERY_S:
            return
        self._noticed[kind] = now_s, self._counts[kind]
        self._notice(Refusal(key, reason, self._counts[kind] - noticed, message))
