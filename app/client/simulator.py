"""Plays Gymnasium and PettingZoo environments as game cores outside the cluster."""

import asyncio
import contextlib
import secrets
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from app.client.environments import make_environments
from app.client.game import Slot
from app.client.game_client import GameClient
from app.client.loops import new_loop
from app.client.multi_agent import PREFIX, make_multi_agent
from app.client.multi_core import MultiCore, Table, slots_of
from app.client.result import Scores, SimulationResult
from app.client.retry import RetryLimits
from app.client.seats import Seats
from app.client.single_core import SingleCore
from app.client.vector_core import VectorCore
from app.errors import SparringError
from app.words import Purpose

CLOSING_S = 2.0
"""Bound of ending after a signal: half for the step under way, half for the stops."""
PROGRESS_S = 1.0


class Transport(StrEnum):
    """How games reach the service."""

    STEPS = "steps"
    """All over one connection, one ``/steps`` request a frame."""
    STEP = "step"
    """One connection a game, one ``/step`` request a tick."""


@dataclass(frozen=True, slots=True)
class Simulation:
    """What to play, and where.

    Attributes:
      env: Gymnasium id, or ``pettingzoo:package.module:factory``.
      url: Service, as ``http://host:port``.
      games: Number of games played at a time.
      purpose: Why they are played; only ``train`` is recorded for learning.
      seed: Episode i is seeded with seed + i; None draws a seed.
      episodes: Exactly so many games; None plays until a signal comes.
      transport: How games reach the service.
      version: Version of the model that shall answer, such as "1.57"; None leaves it to the service.
      seats: Of games with several agents: who plays for whom, game i by mapping i of these, and round again.
      scored: Of these games: the service's agents whose mean return is the game's; empty means all.
      with_state: Of these games: whether the state of the whole game goes with each observation.
      wait_s: Seconds to wait for the service, at the beginning and whenever it goes away.
    """

    env: str
    url: str
    games: int = 16
    purpose: Purpose = Purpose.TRAIN
    seed: int | None = None
    episodes: int | None = None
    transport: Transport = Transport.STEPS
    version: str | None = None
    wait_s: float = 60.0
    seats: tuple[Seats, ...] = ()
    scored: frozenset[str] = frozenset()
    with_state: bool = False

    @property
    def multi_agent(self) -> bool:
        """Tells whether several agents play one game."""
        return self.env.startswith(PREFIX)

    def __post_init__(self) -> None:
        if self.games < 1 or (self.episodes is not None and self.episodes < 1) or self.wait_s <= 0:
            raise ValueError(f"games, episodes and wait_s are positive, got {self}")
        if self.multi_agent and self.transport is not Transport.STEPS:
            raise ValueError(f"games of several agents take the transport steps, got {self.transport}")
        if (self.seats or self.scored or self.with_state) and not self.multi_agent:
            raise ValueError(
                f"seats, scored and with_state are of games whose env begins with {PREFIX!r}, got {self.env!r}"
            )


class Core(Protocol):
    """A way of playing all games."""

    @property
    def policy_version(self) -> str | None:
        """Returns the version that the newest reply named; None where the service names none."""

    async def play(self, stop: asyncio.Event) -> None:
        """Plays until all games are over or ``stop`` is set, which leaves games open."""

    async def close_open_games(self) -> None:
        """Sends the stop of each game under way."""


def run_simulation(simulation: Simulation, progress: Callable[[Scores], None] | None = None) -> SimulationResult:
    """Returns what a simulation did; SIGTERM and SIGINT end it, its open games then count as truncated.

    Args:
      simulation: What to play.
      progress: Called about once a second with the counts so far.

    Raises:
      SparringError: The service cannot be reached or refuses to play.
    """
    with asyncio.Runner(loop_factory=new_loop) as runner:
        return runner.run(_run_until_signal(simulation, progress))


async def play(
    simulation: Simulation, stop: asyncio.Event, progress: Callable[[Scores], None] | None = None
) -> SimulationResult:
    """Returns what a simulation did until its games were over or ``stop`` was set.

    Raises:
      SparringError: The service cannot be reached or refuses to play.
    """
    scores = Scores(slots=min(simulation.games, simulation.episodes or simulation.games))
    client = _client(simulation, scores.slots)
    core = _core(simulation, client, scores)
    playing = asyncio.create_task(_play_when_ready(core, client, simulation.wait_s, scores, stop))
    try:
        await _until_ended(playing, stop, scores, progress)
    finally:
        playing.cancel()
        await asyncio.wait([playing])
        with contextlib.suppress(TimeoutError, SparringError):  # The service truncates what it does not hear of.
            async with asyncio.timeout(CLOSING_S / 2):
                await core.close_open_games()
        await client.close()
    return scores.result(simulation.env, simulation.purpose, core.policy_version)


async def _run_until_signal(
    simulation: Simulation, progress: Callable[[Scores], None] | None = None
) -> SimulationResult:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        with contextlib.suppress(NotImplementedError):  # On Windows, where Ctrl-C raises KeyboardInterrupt.
            loop.add_signal_handler(number, stop.set)
    return await play(simulation, stop, progress)


async def _play_when_ready(core: Core, client: GameClient, wait_s: float, scores: Scores, stop: asyncio.Event) -> None:
    await client.wait_ready(wait_s)
    scores.began_s = time.monotonic()
    await core.play(stop)


async def _until_ended(
    playing: asyncio.Task[None], stop: asyncio.Event, scores: Scores, progress: Callable[[Scores], None] | None
) -> None:
    """Returns when the games are over or the time after ``stop`` is up; raises what playing raised."""
    stopped = asyncio.create_task(stop.wait())
    try:
        while not (playing.done() or stopped.done()):
            await asyncio.wait([playing, stopped], timeout=PROGRESS_S, return_when=asyncio.FIRST_COMPLETED)
            if progress is not None:
                progress(scores)
    finally:
        stopped.cancel()
        await asyncio.wait([stopped])
    await asyncio.wait([playing], timeout=CLOSING_S / 2)
    if playing.done():
        playing.result()


def _client(simulation: Simulation, slots: int) -> GameClient:
    connections = slots if simulation.transport is Transport.STEP else 1
    limits = RetryLimits(limit_s=simulation.wait_s)
    return GameClient(simulation.url, simulation.purpose, limits, connections=connections)


def _core(simulation: Simulation, client: GameClient, scores: Scores) -> Core:
    seed = secrets.randbelow(2**31) if simulation.seed is None else simulation.seed
    run = secrets.token_hex(6)
    options = {} if simulation.version is None else {"model_version": simulation.version}
    if simulation.multi_agent:
        numbers = slots_of(scores.slots, simulation.episodes)
        tables = [
            Table(
                make_multi_agent(simulation.env, with_state=simulation.with_state),
                mine,
                f"{run}-{slot}",
                simulation.seats,
            )
            for slot, mine in enumerate(numbers)
        ]
        return MultiCore(client, tables, seed, scores, options, simulation.scored)
    alone = simulation.transport is Transport.STEP
    environments = make_environments(
        simulation.env, scores.slots, seed, seeded_episodes=alone or simulation.episodes is not None
    )
    slots = [Slot(index, scores.slots, run, seed, simulation.episodes) for index in range(scores.slots)]
    if alone:
        return SingleCore(client, environments, slots, scores, options)
    return VectorCore(client, environments, slots, scores, options)
