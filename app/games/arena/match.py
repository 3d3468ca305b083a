"""One game of the arena against the service: a session for each player, one for the bosses, one for the observer."""

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeVar

import numpy as np
import orjson
from google.protobuf.message import DecodeError, Message

from app.errors import SparringError
from app.games.arena.arena_pb2 import StopOutput, TickOutput
from app.games.arena.game import Arena, Setup, Side
from app.games.arena.messages import stop_of, tick_of

M = TypeVar("M", bound=Message)

BOSSES: Final = "bosses"
OBSERVER: Final = "observer"


class Service(Protocol):
    """What a match needs of a client."""

    async def step(self, session: str, kind: str, seq: int, body: bytes) -> bytes:
        """Returns the agent's bytes for one step."""


class MatchError(SparringError):
    """An agent commanded what the rules do not allow, or the observer saw another game."""


@dataclass(slots=True)
class Seat:
    """One agent's side of the match."""

    session: str
    controls: Sequence[int]
    """Entities that it decides for, dead or alive."""
    seq: int = 0


@dataclass(slots=True)
class Match:
    """A game and the sessions that play it."""

    service: Service
    game: str
    """Id of the game; the sessions are ``<game>-agent-<name>``."""
    seed: int
    version: str | None = None
    """Version of the model that plays for the players; None leaves it to the service."""
    arena: Arena = field(init=False)
    steps: int = 0
    """Steps that were answered."""
    actions: int = 0
    """Decisions of players."""
    sessions: int = 0
    """Sessions that were started."""

    def __post_init__(self) -> None:
        rng = np.random.default_rng(self.seed)
        self.arena = Arena(Setup.draw(rng), rng)

    async def play(self) -> None:
        """Plays to the end; a player who dies leaves at once.

        Raises:
          SparringError: The service refused a step, or an agent broke the rules.
        """
        seats = self._seats()
        options = b"" if self.version is None else orjson.dumps({"model_version": self.version})
        bodies = {name: b"" if name in (BOSSES, OBSERVER) else options for name in seats}
        await _together([self._ask(seat, "start", bodies[name]) for name, seat in seats.items()])
        self.sessions = len(seats)
        while not (self.arena.terminated or self.arena.truncated):
            self._step(await self._decisions(seats))
            dead = [name for name, seat in seats.items() if self._dead(seat)]
            if not self.arena.terminated:
                await _together([self._stop(seats.pop(name)) for name in dead])
        await _together([self._stop(seat) for name, seat in seats.items() if name != OBSERVER])
        self._compare(_read(StopOutput, await self._stop(seats[OBSERVER])))

    def _seats(self) -> dict[str, Seat]:
        numbers = {side: np.flatnonzero(self.arena.side == side).tolist() for side in Side}
        controls = {f"player_{number + 1}": [number] for number in numbers[Side.PLAYER]}
        controls |= {BOSSES: numbers[Side.BOSS], OBSERVER: []}
        return {name: Seat(f"{self.game}-agent-{name}", mine) for name, mine in controls.items()}

    async def _decisions(self, seats: Mapping[str, Seat]) -> dict[int, int]:
        alive = self.arena.alive
        bodies = [
            tick_of(self.arena, [c for c in seat.controls if alive[c]], self._reward(seat)).SerializeToString()
            for seat in seats.values()
        ]
        asked = [self._ask(seat, "tick", body) for seat, body in zip(seats.values(), bodies, strict=True)]
        answers = [_read(TickOutput, answer) for answer in await _together(asked)]
        return {command.entity: command.action for answer in answers for command in answer.commands}

    def _step(self, decisions: Mapping[int, int]) -> None:
        living = np.flatnonzero(self.arena.alive).tolist()
        if sorted(decisions) != living:
            raise MatchError(f"game {self.game!r}: commands came for {sorted(decisions)}; alive are {living}")
        self.actions += int((self.arena.side[living] == Side.PLAYER).sum())
        try:
            self.arena.step(decisions)
        except ValueError as error:
            raise MatchError(f"game {self.game!r}, tick {self.arena.tick}: {error}") from error

    def _dead(self, seat: Seat) -> bool:
        return bool(seat.controls) and not self.arena.alive[list(seat.controls)].any()

    def _reward(self, seat: Seat) -> float:
        players = [entity for entity in seat.controls if self.arena.side[entity] == Side.PLAYER]
        return self.arena.reward(players[0]) if players else 0.0

    async def _stop(self, seat: Seat) -> bytes:
        return await self._ask(seat, "stop", stop_of(self.arena, seat.controls, self._reward(seat)).SerializeToString())

    async def _ask(self, seat: Seat, kind: str, body: bytes) -> bytes:
        answer = await self.service.step(seat.session, kind, seat.seq, body)
        seat.seq += 1
        self.steps += 1
        return answer

    def _compare(self, seen: StopOutput) -> None:
        dead = self.arena.side[~self.arena.alive].tolist()
        wanted = StopOutput(
            ticks=self.arena.tick,
            players_lost=dead.count(Side.PLAYER),
            bosses_lost=dead.count(Side.BOSS),
            actions=self.actions,
        )
        if seen != wanted:
            raise MatchError(f"game {self.game!r}: the observer counted {seen!s}, played were {wanted!s}")


def _read(message: type[M], answer: bytes) -> M:
    try:
        return message.FromString(answer)
    except DecodeError as error:
        raise MatchError(f"an agent answered {answer[:40]!r}; wanted is a {message.DESCRIPTOR.full_name}") from error


async def _together(parts: Sequence[Coroutine[Any, Any, bytes]]) -> list[bytes]:
    """Returns the answers to steps that are sent at once."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(part) for part in parts]
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from failures
    return [task.result() for task in tasks]
