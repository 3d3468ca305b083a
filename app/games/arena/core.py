"""Game core of the arena: ``python -m app.games.arena.core`` plays games against a running service."""

import asyncio
import hashlib
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import orjson
import typer

from app.client.game_client import GameClient
from app.errors import SparringError
from app.games.arena.match import Match
from app.seeding import derive
from app.types import Purpose

URL = "http://127.0.0.1:36390"
MAX_PARALLEL = 32
"""Games at a time: each has up to six steps under way on the one connection, which carries 256."""


@dataclass(frozen=True, slots=True)
class Result:
    """What a run has played; equal seeds give equal digests where the agents decide equally."""

    games: int
    """Games that ended."""
    won: int
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


async def run(url: str, games: int, seed: int, parallel: int, purpose: Purpose, wait_s: float) -> Result:
    """Returns what was played.

    Args:
      url: Service, as ``http://host:port``.
      games: Number of games.
      seed: All games derive from it, and their ids hold it.
      parallel: Games at a time.
      purpose: Why they are played.
      wait_s: Longest wait for the service.

    Raises:
      SparringError: The service cannot be reached.
    """
    client = GameClient(url, purpose)
    try:
        await client.wait_ready(wait_s)
        began_s = time.monotonic()
        matches = [Match(client, f"arena-{seed}-{number}", derive(seed, number)) for number in range(games)]
        failures = await _play_all(matches, parallel)
    finally:
        await client.close()
    return _result(matches, failures, time.monotonic() - began_s)


async def _play_all(matches: Sequence[Match], parallel: int) -> list[str]:
    waiting = list(reversed(matches))
    failures: list[str] = []

    async def play_one_after_another() -> None:
        while waiting:
            match = waiting.pop()
            try:
                await match.play()
            except SparringError as error:
                failures.append(f"{match.game}: {error}")

    async with asyncio.TaskGroup() as group:
        for _ in range(min(parallel, len(matches))):
            group.create_task(play_one_after_another())
    return failures


def _result(matches: Sequence[Match], failures: Sequence[str], seconds: float) -> Result:
    arenas = [match.arena for match in matches]
    ends = [[match.game, a.tick, a.health.tolist(), a.place.tolist()] for match, a in zip(matches, arenas, strict=True)]
    return Result(
        games=len(matches) - len(failures),
        won=sum(arena.won for arena in arenas),
        truncated=sum(arena.truncated for arena in arenas),
        ticks=sum(arena.tick for arena in arenas),
        steps=sum(match.steps for match in matches),
        actions=sum(match.actions for match in matches),
        sessions=sum(match.sessions for match in matches),
        digest=hashlib.sha256(orjson.dumps(ends)).hexdigest()[:16],
        failures=tuple(failures),
        seconds=round(seconds, 3),
    )


def main(
    url: Annotated[str, typer.Option(help="The service's game port.")] = URL,
    games: Annotated[int, typer.Option(min=1, help="Number of games.")] = 20,
    seed: Annotated[
        int, typer.Option(min=0, help="All games derive from it; their ids hold it, so two runs at once need two.")
    ] = 0,
    parallel: Annotated[int, typer.Option(min=1, max=MAX_PARALLEL, help="Games at a time.")] = 4,
    purpose: Annotated[Purpose, typer.Option(help="Why the games are played.")] = Purpose.EVALUATE,
    wait_s: Annotated[float, typer.Option(min=0.1, help="Seconds to wait for the service.")] = 60.0,
) -> None:
    """Plays games of the arena and prints one line of JSON; the exit code is 1 unless every game ended well."""
    try:
        result = asyncio.run(run(url, games, seed, parallel, purpose, wait_s))
    except (SparringError, ValueError) as error:
        typer.echo(f"arena: {error}", err=True)
        raise typer.Exit(1) from error
    typer.echo(orjson.dumps(result).decode())
    if result.failures:
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
