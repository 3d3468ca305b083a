"""Games that go on while a test breaks things, and check every answer."""

import asyncio
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import orjson

from app.client.game_client import GameClient
from app.client.retry import RetryLimits
from app.types import Purpose


@dataclass
class LiveGames:
    """Plays games of a ``CountingAgent`` over a few connections; each keeps its own count of what it has sent."""

    url: str
    games: int
    connections: int = 8
    start_url: str = ""
    """Where games are started, if not at ``url``."""
    prefix: str = "live"
    """What the games' ids begin with."""
    pause_s: float = 0.02
    limit_s: float = 40.0
    """Longest wait for an answer, with all tries."""
    lossy: bool = False
    """Whether ticks may be missing after a crash."""
    ticks: int = 0
    resumed: int = 0
    missed: list[int] = field(default_factory=list)
    """Ticks that each resumed game has missed."""
    failures: list[str] = field(default_factory=list)
    finished: int = 0
    slowest_s: dict[str, float] = field(default_factory=dict)
    """Longest wait for the answer to a tick, of each session, as long as nobody clears it."""
    started: threading.Event = field(default_factory=threading.Event)
    _begun: int = 0

    async def play(self, stop: asyncio.Event) -> None:
        """Plays until told to stop, then stops every game."""
        limits = RetryLimits(limit_s=self.limit_s, request_s=15, longest_wait_s=0.5)
        clients = [GameClient(self.url, Purpose.PLAY, limits) for _ in range(self.connections)]
        elsewhere = [GameClient(self.start_url, Purpose.PLAY, limits)] if self.start_url else []
        starters = elsewhere or clients  # Over all connections, so that each replica gets some.
        try:
            async with asyncio.TaskGroup() as group:
                for number in range(self.games):
                    group.create_task(self._game(number, starters[number % len(starters)], clients, stop))
        finally:
            for client in (*elsewhere, *clients):
                await client.close()

    async def _game(self, number: int, starter: GameClient, clients: list[GameClient], stop: asyncio.Event) -> None:
        source = random.Random(number)  # noqa: S311  # A test, not a secret.
        session, seq, total, missed = f"{self.prefix}-{number}", 0, 0, 0
        try:
            await starter.step(session, "start", 0, b"null")
            self._begun += 1
            if self._begun == self.games:
                self.started.set()
            while not stop.is_set():
                seq += 1
                value = source.randrange(1000)
                total += value
                client, sent_s = source.choice(clients), time.monotonic()  # Over any connection.
                answer: dict[str, Any] = orjson.loads(await client.step(session, "tick", seq, b"%d" % value))
                self.slowest_s[session] = max(self.slowest_s.get(session, 0.0), time.monotonic() - sent_s)
                if answer["missed"] > missed:
                    self.resumed += 1
                    self.missed.append(answer["missed"] - missed)
                    missed, total = answer["missed"], answer["total"]
                if (answer["ticks"], answer["total"]) != (seq, total) or (missed and not self.lossy):
                    self.failures.append(f"{session}: tick {seq} with sum {total} was answered {answer}")
                    return
                self.ticks += 1
                await asyncio.sleep(source.uniform(0, 2 * self.pause_s))
            await clients[0].step(session, "stop", seq + 1, b"null")
        except Exception as error:  # noqa: BLE001  # Each is a lost game.
            self.failures.append(f"{session}: tick {seq}: {error!r}")
            return
        self.finished += 1


@contextmanager
def live_games(url: str, games: int, **changes: Any) -> Iterator[LiveGames]:
    """Plays games for as long as the block runs; then all must have been played to their end without a fault."""
    live = LiveGames(url, games, **changes)
    loop = asyncio.new_event_loop()
    stop = asyncio.Event()
    thread = threading.Thread(target=lambda: loop.run_until_complete(live.play(stop)), name="live games", daemon=True)
    thread.start()
    try:
        assert live.started.wait(60), f"not all games were started: {live.failures[:3]}"
        yield live
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(60)
        loop.close()
    assert not live.failures, (len(live.failures), live.failures[:5])
    assert live.finished == games
