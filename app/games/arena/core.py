"""Game core of the arena: ``python -m app.games.arena.core`` plays games against a running service."""

import asyncio
import hashlib
import secrets
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Annotated

import orjson
import typer

from app.client.game_client import GameClient
from app.errors import SparringError
from app.games.arena.match import Match
from app.seeding import derive
from app.types import Purpose

URL = "http://127.0.0.1:36390"
MAX_GAMES = 32
"""Games at a time: each has up to six steps under way on the one connection, which carries 256."""


@dataclass(frozen=True, slots=True)
class Result:
    """What a run has played; equal seeds give equal digests where the agents decide equally."""

    episodes: int
    """Games that ended."""
    mean_return: float | None
    """Share of them that the players won; None without any, as is the next one."""
    min_return: float | None
    """1 where they won all, else 0."""
    truncated: int
    ticks: int
    steps: int
    actions: int
    """Decisions of players."""
    sessions: int
    digest: str
    """Hash of how each game ended."""
    failures: tuple[str, ...]
    """What went wrong, one line a game."""
    seconds: float


@dataclass(slots=True)
class Played:
    """What was played until now; of games that ended no more is kept than that."""

    numbers: Iterator[int]
    """Numbers of the games that are still to be played."""
    ended: int = 0
    won: int = 0
    truncated: int = 0
    ticks: int = 0
    steps: int = 0
    actions: int = 0
    sessions: int = 0
    ends: dict[int, str] = field(default_factory=dict)
    """Hash of how each game ended."""
    failures: list[str] = field(default_factory=list)

    def note(self, number: int, match: Match) -> None:
        """Counts a game that ended."""
        arena = match.arena
        self.ended += 1
        self.won += arena.won
        self.truncated += arena.truncated
        self.ticks += arena.tick
        self.steps += match.steps
        self.actions += match.actions
        self.sessions += match.sessions
        end = [number, arena.tick, arena.health.tolist(), arena.place.tolist()]
        self.ends[number] = hashlib.sha256(orjson.dumps(end)).hexdigest()[:16]

    def result(self, seconds: float) -> Result:
        """Returns the counts."""
        return Result(
            episodes=self.ended,
            mean_return=self.won / self.ended if self.ended else None,
            min_return=float(self.won == self.ended) if self.ended else None,
            truncated=self.truncated,
            ticks=self.ticks,
            steps=self.steps,
            actions=self.actions,
            sessions=self.sessions,
            digest=hashlib.sha256(orjson.dumps(sorted(self.ends.items()))).hexdigest()[:16],
            failures=tuple(self.failures),
            seconds=round(seconds, 3),
        )


@dataclass(frozen=True, slots=True)
class Run:
    """What to play, and where.

    Attributes:
      url: Service, as ``http://host:port``.
      seed: All games derive from it.
      games: Games at a time.
      episodes: Exactly so many games; None plays until it is stopped.
      purpose: Why they are played.
      version: Version of the model that shall answer; None leaves it to the service.
      wait_s: Longest wait for the service.
    """

    url: str = URL
    seed: int = 0
    games: int = 4
    episodes: int | None = None
    purpose: Purpose = Purpose.EVALUATE
    version: str | None = None
    wait_s: float = 60.0


async def run(wanted: Run, stop: asyncio.Event | None = None) -> Result:
    """Returns what was played until all games ended, or ``stop`` was set: games under way are then played to their end.

    Raises:
      SparringError: The service cannot be reached.
    """
    client = GameClient(wanted.url, wanted.purpose)
    played = Played(count() if wanted.episodes is None else iter(range(wanted.episodes)))
    try:
        await client.wait_ready(wanted.wait_s)
        began_s = time.monotonic()
        token, stopping = secrets.token_hex(4), stop or asyncio.Event()
        places = min(wanted.games, wanted.episodes or wanted.games)
        async with asyncio.TaskGroup() as group:
            for _ in range(places):
                group.create_task(_play_one_after_another(client, wanted, token, played, stopping))
    finally:
        await client.close()
    return played.result(time.monotonic() - began_s)


async def _play_one_after_another(
    client: GameClient, wanted: Run, token: str, played: Played, stop: asyncio.Event
) -> None:
    while not stop.is_set() and (number := next(played.numbers, None)) is not None:
        match = Match(client, f"arena-{token}-{number}", derive(wanted.seed, number), wanted.version)
        try:
            await match.play()
            played.note(number, match)
        except SparringError as error:
            played.failures.append(f"game {number}: {error}")
            if wanted.episodes is None:  # Whoever waits for its end would wait for ever.
                raise


def main(
    url: Annotated[str, typer.Option(help="The service's game port.")] = URL,
    games: Annotated[int, typer.Option(min=1, max=MAX_GAMES, help="Games at a time.")] = 4,
    episodes: Annotated[
        int | None, typer.Option(min=1, help="Play exactly so many games; without it until SIGTERM or Ctrl-C.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="All games derive from it.")] = 0,
    purpose: Annotated[Purpose, typer.Option(help="Why the games are played.")] = Purpose.EVALUATE,
    version: Annotated[str | None, typer.Option(help="Model version that shall answer, such as 1.57.")] = None,
    wait_s: Annotated[float, typer.Option(min=0.1, help="Seconds to wait for the service.")] = 60.0,
) -> None:
    """Plays games of the arena and prints one line of JSON; the exit code is 1 unless every game ended well."""
    try:
        result = asyncio.run(_run_until_signal(Run(url, seed, games, episodes, purpose, version, wait_s)))
    except (SparringError, ValueError) as error:
        typer.echo(f"arena: {error}", err=True)
        raise typer.Exit(1) from error
    typer.echo(orjson.dumps(result).decode())
    if result.failures:
        raise typer.Exit(1)


async def _run_until_signal(wanted: Run) -> Result:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    try:
        return await run(wanted, stop)
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from failures


if __name__ == "__main__":
    typer.run(main)
