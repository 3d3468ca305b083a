"""Lets the games of one replica wait while the trainer learns: synchronous rollouts."""

import asyncio
import weakref
from collections.abc import Awaitable
from typing import Any, Final

from app.agents.unroll import Unroll
from app.errors import AgentError
from app.models.around import ModelAround
from app.models.model import Model
from app.models.question import Decision, Question
from app.types import UNTRAINED, RowKind, Version

LONGEST_WAIT_S: Final = 120.0
"""Longest wait of one tick: a trainer that takes longer for an update is gone."""


class Pace:
    """Counts the rows that are played with one version, and closes when there are enough; see ``Watch``.

    Then all trajectories are cut and handed over, and whoever asks for a further decision waits for newer weights. So a
    batch holds rows of one version, and none is played for nothing but those whose reward was still to come.
    """

    def __init__(self, wanted_rows: int) -> None:
        """Lets games go on.

        Args:
          wanted_rows: Rows that this replica plays with each version, bootstrap rows included.
        """
        self.waits = 0
        """Decisions that had to wait."""
        self._share = self._wanted = wanted_rows
        self._rows = 0
        """Rows of the version that plays."""
        self._played = UNTRAINED
        """Newest version that plays."""
        self._unrolls: weakref.WeakSet[Unroll] = weakref.WeakSet()
        self._opened, self._closed = asyncio.Event(), asyncio.Event()
        self._opened.set()

    @property
    def closed(self) -> bool:
        """Returns whether games wait."""
        return self._closed.is_set()

    @property
    def played(self) -> Version:
        """Returns the version that plays."""
        return self._played

    @property
    def rows(self) -> int:
        """Returns the rows of the version that plays."""
        return self._rows

    def join(self, unroll: Unroll) -> None:
        """Cuts a session's trajectory where games begin to wait; it leaves with its session."""
        self._unrolls.add(unroll)

    def completed(self, rows: int) -> None:
        """Counts rows."""
        self._rows += rows

    def reached(self, unroll: Unroll, observation: Any, mask: Any) -> None:
        """Cuts all trajectories where there are rows enough, and lets games wait."""
        if self._rows < self._wanted or self.closed or self._played == UNTRAINED:
            return
        unroll.cut(RowKind.FULL, observation, mask)
        self._cut_all()
        self._opened.clear()
        self._closed.set()

    def took(self, version: Version) -> None:
        """Notes that newer weights play: games go on."""
        if version <= self._played:
            return
        if not self.closed:  # Nobody has waited for them: what was played until now is of another version.
            self._cut_all()
        self._played, self._rows, self._wanted = version, 0, self._share
        self._open()

    def want_more(self, rows: int) -> None:
        """Lets games go on with the same version: so many of its rows are missing."""
        if self.closed:
            self._wanted = self._rows + rows
            self._open()

    async def until_closed(self, timeout_s: float | None = None) -> bool:
        """Returns whether games wait, as soon as they do or after a while; None waits as long as it takes."""
        return await _within(self._closed, timeout_s)

    async def until_opened(self, timeout_s: float) -> bool:
        """Returns whether games go on, as soon as they do or after a while."""
        return await _within(self._opened, timeout_s)

    async def go_on(self) -> None:
        """Returns when games may go on.

        Raises:
          AgentError: No newer weights came in time.
        """
        self.waits += 1
        if not await self.until_opened(LONGEST_WAIT_S):
            raise AgentError(f"games wait for weights newer than {self._played}, and none came in {LONGEST_WAIT_S:g} s")

    def _cut_all(self) -> None:
        for unroll in list(self._unrolls):
            unroll.cut(RowKind.FULL, None)

    def _open(self) -> None:
        self._closed.clear()
        self._opened.set()


async def _within(event: asyncio.Event, timeout_s: float | None) -> bool:
    """Returns whether something happens in time."""
    try:
        async with asyncio.timeout(timeout_s):
            await event.wait()
    except TimeoutError:
        return False
    return True


class PacedModel(ModelAround):
    """A model that decides while games go on."""

    def __init__(self, model: Model, pace: Pace) -> None:
        super().__init__(model)
        self._pace = pace

    def decide(self, question: Question) -> Awaitable[Decision]:
        """Returns the decision to come; see ``Model``."""
        return self._decided(question) if self._pace.closed else self._model.decide(question)

    async def _decided(self, question: Question) -> Decision:
        await self._pace.go_on()
        return await self._model.decide(question)
