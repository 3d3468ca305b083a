"""The load of a soak: games that check each answer, one after another, for as long as it lasts."""

import asyncio
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import orjson

from app.client.errors import ClientError, SessionLostError
from app.client.game_client import GameClient
from app.client.retry import RetryLimits
from app.types import Purpose
from tests.soak.ledger import GameRecord, Ledger

LIMITS = RetryLimits(limit_s=90, request_s=20, longest_wait_s=0.5)
"""A machine that starts a replica beside all else takes its time; a game that waits so long is not lost."""


@dataclass
class Load:
    """So many games at a time, each of some hundred ticks."""

    url: str
    ledger: Ledger
    seed: int
    games: int
    keeps_every: int
    pause_s: float
    connections: int = 4
    answered_s: dict[int, float] = field(default_factory=dict)
    """When each place has got its newest answer, by ``time.monotonic``."""

    async def play(self, stop: asyncio.Event, prefix: str) -> None:
        """Plays until told to stop, then stops every game."""
        clients = [GameClient(self.url, Purpose.PLAY, LIMITS) for _ in range(self.connections)]
        try:
            async with asyncio.TaskGroup() as group:
                for place in range(self.games):
                    group.create_task(self._place(place, clients, stop, prefix))
        finally:
            for client in clients:
                await client.close()

    async def _place(self, place: int, clients: list[GameClient], stop: asyncio.Event, prefix: str) -> None:
        source = random.Random(f"{self.seed}-{prefix}-{place}")  # noqa: S311  # A test, not a secret.
        number = 0
        while not stop.is_set():
            number += 1
            session = f"{prefix}-{place}-{number}-agent-checked"
            try:
                await self._game(session, place, clients, source, stop)
                self.ledger.games += 1
            except SessionLostError as error:
                self.ledger.fail("lost", f"{session}: {error}")
            except ClientError as error:
                self.ledger.fail("error", f"{session}: {type(error).__name__}: {error}")

    async def _game(
        self, session: str, place: int, clients: list[GameClient], source: random.Random, stop: asyncio.Event
    ) -> None:
        record, length = GameRecord(session, self.keeps_every), source.randrange(50, 500)
        await clients[place % len(clients)].step(session, "start", 0, b"null")
        while record.seq < length and not stop.is_set():
            value = source.randrange(1000)
            record.sent(value)
            begun_s = time.monotonic()
            reply = await source.choice(clients).step(session, "tick", record.seq, b"%d" % value)
            self.answered_s[place] = time.monotonic()
            self.ledger.took(self.answered_s[place] - begun_s)
            self.ledger.ticks += 1
            answer: dict[str, Any] = orjson.loads(reply)
            if not record.check(answer, self.ledger):
                break
            await asyncio.sleep(source.uniform(0, 2 * self.pause_s))
        await clients[0].step(session, "stop", record.seq + 1, b"null")

    def all_answered_since(self, since_s: float) -> bool:
        """Returns whether each place has got an answer after a time of ``time.monotonic``."""
        return len(self.answered_s) == self.games and min(self.answered_s.values()) > since_s


@contextmanager
def load(games: Load, prefix: str) -> Iterator[Load]:
    """Plays while the block runs."""
    loop, stop = asyncio.new_event_loop(), asyncio.Event()

    def run() -> None:
        try:
            loop.run_until_complete(games.play(stop, prefix))
        except Exception as error:  # noqa: BLE001  # Whatever it is, the report shows it.
            games.ledger.fail("error", f"the load has ended: {error!r}")

    thread = threading.Thread(target=run, name="soak load", daemon=True)
    thread.start()
    try:
        yield games
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(LIMITS.limit_s + 10)
        if thread.is_alive():
            games.ledger.fail("error", "games did not end")
        else:
            loop.close()
