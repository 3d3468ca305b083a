"""Replicas whose games wait: what is missing is asked of one of them, and once."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, cast

import pytest
from ray.exceptions import RayActorError

from app.agents.pace import Pace
from app.replay.claims import LEASE_S, Claims
from app.types import Version
from deployments import pacing as module
from deployments.pacing import keep_pace

if TYPE_CHECKING:
    from app.stores.buffer import Buffer
    from deployments.pusher import Pusher

FIRST, SECOND = Version(1, 0), Version(1, 1)


class FakeBuffer:
    """Counts the rows of one version, and asks for those that are missing."""

    def __init__(self, rows: int) -> None:
        self.missing = rows
        self.now_s = 0.0
        self.granted: list[int] = []
        self.asked = self.renewed = 0
        self.away = False
        self._claims = Claims()

    async def claim(self, claimer: str, version: Version) -> int:
        self.asked += 1
        if self.away:
            raise RayActorError
        if not self.missing or not self._claims.take(claimer, version, self.now_s):
            return 0
        self.granted.append(self.missing)
        return self.missing

    async def renew(self, claimer: str, version: Version) -> None:
        self.renewed += 1
        self._claims.renew(claimer, version, self.now_s)


class Replica:
    """Its games play as many rows as a test says; they are there when they are flushed."""

    def __init__(self, buffer: FakeBuffer, share: int) -> None:
        self.pace = Pace(share)
        self.pace.took(FIRST)
        self._buffer, self._unsent = buffer, 0

    def play(self, rows: int, *, wait: bool = False) -> None:
        self.pace.completed(rows)
        self._unsent += rows
        if wait:
            self.pace.reached(cast("Any", self), None, None)

    def cut(self, *_: Any) -> None:
        """Takes the place of a trajectory, which is cut where games begin to wait."""

    async def flush(self) -> None:
        await asyncio.sleep(0)
        self._buffer.missing = max(0, self._buffer.missing - self._unsent)
        self._unsent = 0


@pytest.fixture(autouse=True)
def _looks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOOK_S", 0.005)


@asynccontextmanager
async def keeping(*replicas: Replica) -> AsyncIterator[None]:
    tasks = [
        asyncio.create_task(keep_pace(one.pace, cast("Pusher", one), cast("Buffer", one._buffer))) for one in replicas
    ]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks, timeout=10)


async def until(claim: Callable[[], Any]) -> None:
    async with asyncio.timeout(10):
        while not claim():  # noqa: ASYNC110  # What is waited for has no event of its own.
            await asyncio.sleep(0.001)


async def looks(buffer: FakeBuffer, count: int) -> None:
    """Returns after the buffer was asked so often again."""
    wanted = buffer.asked + count
    await until(lambda: buffer.asked >= wanted)


async def test_of_two_replicas_that_wait_one_plays_what_the_third_does_not() -> None:
    buffer = FakeBuffer(30)
    first, second = Replica(buffer, 10), Replica(buffer, 10)
    async with keeping(first, second):
        first.play(10, wait=True)
        second.play(10, wait=True)
        await until(lambda: buffer.granted)
        await looks(buffer, 5)
        assert buffer.granted == [10]
        assert [first.pace.closed, second.pace.closed].count(False) == 1
        (one,) = [replica for replica in (first, second) if not replica.pace.closed]
        one.play(10, wait=True)
        await until(lambda: buffer.missing == 0)
        await looks(buffer, 5)
    assert buffer.granted == [10]


async def test_who_plays_on_slowly_keeps_its_claim_and_who_stands_still_loses_it() -> None:
    buffer = FakeBuffer(30)
    first, second = Replica(buffer, 10), Replica(buffer, 10)
    async with keeping(first, second):
        first.play(10, wait=True)
        await until(lambda: buffer.granted)
        second.play(10, wait=True)
        for _ in range(4):
            buffer.now_s += 0.9 * LEASE_S
            renewed = buffer.renewed
            first.play(1)
            await until(lambda before=renewed: buffer.renewed > before)
        assert second.pace.closed
        buffer.now_s += LEASE_S
        await until(lambda: not second.pace.closed)
    assert len(buffer.granted) == 2


async def test_no_rows_are_asked_for_before_those_that_were_played_have_been_sent() -> None:
    buffer = FakeBuffer(10)
    one = Replica(buffer, 10)
    async with keeping(one):
        one.play(10, wait=True)
        await looks(buffer, 3)
        assert not buffer.granted
        one.pace.took(SECOND)
        await until(lambda: not one.pace.closed)
    assert buffer.renewed == 0


async def test_a_buffer_that_is_away_is_asked_again() -> None:
    buffer = FakeBuffer(20)
    buffer.away = True
    one = Replica(buffer, 10)
    async with keeping(one):
        one.play(10, wait=True)
        await looks(buffer, 2)
        assert one.pace.closed
        buffer.away = False
        await until(lambda: not one.pace.closed)
    assert buffer.granted == [10]
