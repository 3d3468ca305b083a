"""What a simulation counts and what it hands back."""

import time
from dataclasses import asdict, dataclass, field

import orjson

from app.client.errors import StepFailedError
from app.words import Purpose

LOST_CODES = frozenset({"session_unknown", "session_lost"})
"""The service no longer knows the game, for instance after a replica was restarted."""
FATAL_CODES = frozenset(
    {"bad_request", "unauthorized", "bad_payload", "body_too_large", "protocol_version", "overloaded", "draining"}
)
"""Errors that every further game would meet as well; the last two were waited out in vain."""
FAILURES_PER_SLOT = 10
"""Games that may fail one after another, for each slot, before the run is given up."""


@dataclass(frozen=True, slots=True)
class SimulationResult:
    """What a simulation did.

    Attributes:
      env: Gymnasium id.
      purpose: Why the games were played.
      episodes: Games played to their end; those cut or lost do not count.
      mean_return: Mean undiscounted sum of rewards of these games; None without any, as are the next two.
      min_return: The smallest of them.
      max_return: The largest of them.
      ticks: Ticks that the service answered.
      seconds: From the first start to the last stop.
      ticks_per_s: Their ratio.
      lost_games: Games that the service no longer knew.
      errors: Games that failed for another reason.
      policy_version: Version that the newest reply named; None where the service names none.
    """

    env: str
    purpose: Purpose
    episodes: int
    mean_return: float | None
    min_return: float | None
    max_return: float | None
    ticks: int
    seconds: float
    ticks_per_s: float
    lost_games: int
    errors: int
    policy_version: str | None

    def to_json(self) -> str:
        """Returns the result as one line of JSON."""
        return orjson.dumps(asdict(self)).decode()


@dataclass(slots=True)
class Scores:
    """Running counts over all games of a simulation."""

    slots: int
    episodes: int = 0
    return_sum: float = 0.0
    min_return: float = float("inf")
    max_return: float = float("-inf")
    ticks: int = 0
    lost_games: int = 0
    errors: int = 0
    failures_in_a_row: int = 0
    began_s: float = field(default_factory=time.monotonic)

    def finish(self, episode_return: float) -> None:
        """Counts a game played to its end."""
        self.episodes += 1
        self.return_sum += episode_return
        self.min_return = min(self.min_return, episode_return)
        self.max_return = max(self.max_return, episode_return)
        self.failures_in_a_row = 0

    def fail(self, failure: StepFailedError) -> None:
        """Counts a game that the service lost or failed.

        Raises:
          StepFailedError: ``failure`` itself, where playing on cannot help: every game would meet it, or
            ``FAILURES_PER_SLOT`` games a slot have failed without one finished between them.
        """
        if failure.code in LOST_CODES:
            self.lost_games += 1
        else:
            self.errors += 1
        self.failures_in_a_row += 1
        if failure.code in FATAL_CODES or self.failures_in_a_row >= FAILURES_PER_SLOT * self.slots:
            raise failure

    def ticks_per_s(self) -> float:
        """Returns the mean rate since the beginning."""
        return self.ticks / max(time.monotonic() - self.began_s, 1e-9)

    def mean_return(self) -> float | None:
        """Returns the mean return of the finished games, None without any."""
        return self.return_sum / self.episodes if self.episodes else None

    def result(self, env: str, purpose: Purpose, policy_version: str | None) -> SimulationResult:
        """Returns the counts as they stand."""
        return SimulationResult(
            env=env,
            purpose=purpose,
            episodes=self.episodes,
            mean_return=self.mean_return(),
            min_return=self.min_return if self.episodes else None,
            max_return=self.max_return if self.episodes else None,
            ticks=self.ticks,
            seconds=round(time.monotonic() - self.began_s, 3),
            ticks_per_s=round(self.ticks_per_s(), 1),
            lost_games=self.lost_games,
            errors=self.errors,
            policy_version=policy_version,
        )
