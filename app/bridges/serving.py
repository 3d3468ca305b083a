"""What the processes between foreign games and the service have in common."""

import asyncio
import contextlib
import secrets
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from app.bridges.players import Players
from app.bridges.told import ToldPlayers
from app.client.aio import Client
from app.client.result import Scores, SimulationResult
from app.client.seats import EVERYBODY, Seats
from app.types import Purpose

CLOSING_S: Final = 5.0
"""Longest wait for the stops of games under way when a bridge ends."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How a bridge plays.

    Attributes:
      url: The service's game port.
      host: Address that the foreign side connects to.
      port: Its port; 0 takes a free one.
      purpose: Why is played.
      key: Names the bridge to a service with keys.
      secret: What it shares with it; None where the key alone is enough.
      options: Body of each start, the agent's.
      seats: Which agent of the service plays for which one of the game, ``*`` being all others; empty: sessions name no
        agent.
      named: Whether an observation or action of one part alone keeps its name.
      episodes: End once so many games are over; those that end in the same frame count, too. None plays until a signal
        comes.
      wait_s: Seconds to wait for the service.
      idle_s: Seconds after which a silent game is given up.
    """

    url: str
    port: int
    host: str = "127.0.0.1"
    purpose: Purpose = Purpose.TRAIN
    key: str | None = None
    secret: str | None = None
    options: Mapping[str, object] = field(default_factory=dict)
    seats: Seats = field(default_factory=dict)
    named: bool = False
    episodes: int | None = None
    wait_s: float = 60.0
    idle_s: float = 300.0


class Bridge:
    """The service's side of a bridge: makes players, counts what they play, and knows when it is over."""

    def __init__(self, client: Client, settings: Settings) -> None:
        self.client, self.settings = client, settings
        self.over = asyncio.Event()
        """Set by a signal, or when all games are played."""
        self.scores = Scores(slots=1)
        self.policy_version: str | None = None
        self._prefix = secrets.token_hex(6)
        self._sessions = 0

    @contextlib.asynccontextmanager
    async def players(self, role: Callable[[Any], str]) -> AsyncIterator[Players[Any]]:
        """Gives players, whose games end with the block.

        Args:
          role: Returns what the game calls a player; ``seats`` says who plays it.
        """
        players = Players[Any](
            self.client, self.settings.options or None, lambda who: self._name(role(who)), self._ended
        )
        try:
            yield players
        finally:
            self.scores.lost_games += players.lost
            with contextlib.suppress(Exception):  # The service ends by itself what it does not hear of.
                async with asyncio.timeout(CLOSING_S):
                    await players.close()

    @contextlib.asynccontextmanager
    async def told(self) -> AsyncIterator[ToldPlayers]:
        """Gives players who act by themselves, whose games end with the block."""
        told = ToldPlayers(self.client, self._name, self.settings.options or None, self._ended)
        try:
            yield told
        finally:
            self.scores.ticks += told.ticks
            self.scores.lost_games += told.lost
            with contextlib.suppress(Exception):  # As above.
                async with asyncio.timeout(CLOSING_S):
                    await told.close()

    async def play(self, players: Players[Any]) -> dict[Any, Any]:
        """Returns the actions of those who looked, and counts them.

        Raises:
          SparringError: See ``Players.play``.
        """
        actions = await players.play()
        self.scores.ticks += len(actions)
        self.policy_version = players.policy_version or self.policy_version
        return actions

    def _ended(self, episode_return: float) -> None:
        self.scores.finish(episode_return)
        if self.settings.episodes is not None and self.scores.episodes >= self.settings.episodes:
            self.over.set()

    def _name(self, role: str) -> str:
        self._sessions += 1
        game, seats = f"{self._prefix}-{self._sessions}", self.settings.seats
        player = seats.get(role, seats.get(EVERYBODY, role)) if seats else ""
        return f"{game}-agent-{player}" if player else game


Serve = Callable[[Bridge, Callable[[int], None]], Awaitable[None]]
"""Listens, tells the port, and returns once the bridge is over and its games are closed."""


async def run_bridge(
    name: str, settings: Settings, serve: Serve, listening: Callable[[int], None] = lambda _: None
) -> SimulationResult:
    """Returns what was played; SIGTERM and SIGINT end it, games under way then count as truncated.

    Args:
      name: What is on the other side.
      settings: How is played.
      serve: The foreign side.
      listening: Takes the port once games can connect.

    Raises:
      SparringError: The service cannot be reached, or the port is taken.
      ValueError: A setting is none of those allowed.
    """
    async with Client(settings.url, key=settings.key, secret=settings.secret, purpose=settings.purpose) as client:
        bridge = Bridge(client, settings)
        loop = asyncio.get_running_loop()
        signals = (signal.SIGINT, signal.SIGTERM)
        with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):  # Not the main thread, or Windows.
            for number in signals:
                loop.add_signal_handler(number, bridge.over.set)
        await client.wait_ready(settings.wait_s)
        await serve(bridge, listening)
        return bridge.scores.result(name, settings.purpose, bridge.policy_version)
