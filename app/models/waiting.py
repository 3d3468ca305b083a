"""What waits for a model: bounded, and served by deadline where not all fits into one batch."""

import asyncio
from dataclasses import dataclass
from math import inf
from time import perf_counter
from typing import Any, Final, NamedTuple

from app.errors import DeadlineExceededError, OverloadedError
from app.models.batching import BatchLimits
from app.models.question import Leaves, Prepared
from app.types import Version

LATE_S: Final = 0.1
"""Seconds after which a question is answered with an error whose time was up before the model was asked: the step's
own timer, which is due already, comes first and lets the agent fall back."""


class Within(NamedTuple):
    """When answers are wanted, on the event loop's clock or in seconds from now."""

    nearest_s: float
    """The first of them: what goes by it goes first."""
    last_s: float
    """The last of them: from then on nobody waits."""


ALWAYS: Final = Within(inf, inf)


class Batch(NamedTuple):
    """Observations whose answers are wanted as they are, without a decision."""

    inputs: Leaves
    """Each [B, …]."""
    states: Leaves
    """Each [B, …]."""
    version: Version | None


@dataclass(slots=True, eq=False)  # Made in half the time of a named tuple.
class Waiting:
    """A question, or a batch of observations, whose answer is to come."""

    asked: Prepared | Batch
    rows: int
    within: Within
    outcome: asyncio.Future[Any]
    asked_s: float
    """When it came, on ``perf_counter``."""


class WaitingLine:
    """What has not been asked yet."""

    def __init__(self, limits: BatchLimits) -> None:
        self._limits = limits
        self._max_rows = limits.max_rows
        self._waiting: list[Waiting] = []
        self.rows = 0
        """Observations that wait."""
        self.late = 0
        """Questions that were not asked since their time was up."""

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def full(self) -> bool:
        """Returns whether a whole batch waits."""
        return self.rows >= self._max_rows

    def put(self, asked: Prepared | Batch, rows: int, within: Within) -> asyncio.Future[Any]:
        """Returns the outcome to come.

        Raises:
          OverloadedError: Too many wait already.
        """
        if self.rows >= self._limits.max_waiting_rows:
            refuse_more(self.rows, self._limits)
        outcome: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting.append(Waiting(asked, rows, within, outcome, perf_counter()))
        self.rows += rows
        return outcome

    def take(self, now_s: float) -> dict[Version | None, list[Waiting]]:
        """Takes the next batch of those that still want an answer, by version; the nearest deadlines first."""
        waiting, self._waiting = self._wanted(now_s), []
        if self.rows > self._max_rows:
            waiting.sort(key=_nearest)
            waiting, self._waiting = _split(waiting, self._max_rows)
        self.rows = sum([item.rows for item in self._waiting])
        groups: dict[Version | None, list[Waiting]] = {}
        for item in waiting:
            version = item.asked.version
            if version in groups:
                groups[version].append(item)
            else:
                groups[version] = [item]
        return groups

    def _wanted(self, now_s: float) -> list[Waiting]:
        wanted: list[Waiting] = []
        rows = 0
        for item in self._waiting:
            if item.outcome.done():
                continue
            if item.within.last_s <= now_s:
                self.late += 1
                item.outcome.get_loop().call_later(LATE_S, _tell_late, item.outcome)
            else:
                wanted.append(item)
                rows += item.rows
        self.rows = rows
        return wanted


def refuse_more(rows: int, limits: BatchLimits) -> None:
    """Does nothing while fewer observations wait than may.

    Raises:
      OverloadedError: As many wait.
    """
    if rows >= limits.max_waiting_rows:
        raise OverloadedError(f"{rows} observations already wait for the model, as many as are allowed")


def _nearest(item: Waiting) -> float:
    return item.within.nearest_s


def _split(waiting: list[Waiting], max_rows: int) -> tuple[list[Waiting], list[Waiting]]:
    """Returns as many from the front as make a batch, at least one, and the others."""
    rows = 0
    for at, item in enumerate(waiting):
        rows += item.rows
        if rows > max_rows and at:
            return waiting[:at], waiting[at:]
    return waiting, []


def _tell_late(outcome: asyncio.Future[Any]) -> None:
    if not outcome.done():
        outcome.set_exception(DeadlineExceededError("the time of the step was up before the model could be asked"))
