"""An agent that plays all seats of a league's match in one session, for game cores that see all sides at once."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, cast

from app.agents.league_agent import SCORES, LeagueAgent
from app.errors import AgentError, BadPayloadError, LeagueError, SnapshotError
from app.league.matches import Side
from app.league.seats import GameMatches, seating
from app.sessions.ids import game_of
from app.sessions.session import EndCause
from app.types import SessionId, Version
from app.wire.payload import Codec, Payload
from app.wire.steps import Json
from app.wire.trees import Tree

SEATS: Final = "seats"
"""Field of ticks, stops and answers that holds what belongs to each seat, by its number as text."""


class MatchAgent:
    """Answers for every seat as the player does who sits there.

    A tick names the seats whose turn it is: ``{"seats": {"0": …, "1": …}}``; its answer has theirs. Where one of them
    fails the others have moved on, so that the session cannot be played any further.
    """

    def __init__(
        self,
        session: SessionId,
        trainer: str,
        codec: Codec,
        games: GameMatches,
        seat: Callable[[SessionId], LeagueAgent],
        plays: Callable[[Side], bool],
    ) -> None:
        """Makes the agent of one session.

        Args:
          session: Its id.
          trainer: Whose player the match is for.
          codec: What translates payloads; one of JSON.
          games: Matches of the games of this replica.
          seat: Makes who plays a seat, by the id that its session would have.
          plays: Tells whether a side is played here, and not by the game core.
        """
        self._session = session
        self._trainer = trainer
        self._codec = codec
        self._games = games
        self._seat = seat
        self._plays = plays
        self._seats: dict[str, LeagueAgent] = {}
        """By their number, as text."""
        self._learner = ""
        """Seat whose weights are those of the session."""
        self._broken: str | None = None

    def payloads(self) -> Codec:
        """Returns what translates payloads."""
        return self._codec

    @property
    def version(self) -> Version | None:
        """Returns the weights behind the last answer of who learns."""
        learner = self._seats.get(self._learner)
        return None if learner is None else learner.version

    async def on_start(self, options: Payload) -> Payload:
        """Begins an episode on all seats, and returns who plays whom, with what each seat has to say.

        Raises:
          AgentError: The league has no match for it.
        """
        try:
            game = await self._games.join(game_of(self._session), self._trainer)
        except LeagueError as error:
            raise AgentError(str(error)) from error
        match, places = game.match, seating(game.match)
        self._sit([seat for seat, place in enumerate(places) if self._plays(match.sides[place])])
        told = await self._ask({seat: agent.on_start(options) for seat, agent in self._seats.items()})
        self._learner = next((seat for seat in self._seats if match.sides[places[int(seat)]].learns), "")
        return {
            "match": match.id,
            "players": [side.player for side in match.sides],
            "sides": list(places),
            SEATS: _json(told),
        }

    async def on_tick(self, payload: Payload) -> Payload:
        """Returns the answers of the seats that the payload names.

        Raises:
          BadPayloadError: It names none, or one that is not played here.
          AgentError: A seat has failed, now or before.
        """
        parts = self._parts(payload)
        if not parts:
            raise BadPayloadError(f"a tick has {SEATS}: {{<number>: …}}, allowed are {self._allowed()}; got none")
        return {SEATS: _json(await self._ask({seat: self._seats[seat].on_tick(part) for seat, part in parts.items()}))}

    def on_deadline(self, payload: Payload) -> Payload:
        """Returns the answers to a tick whose time is up."""
        parts = self._parts(payload)
        return {SEATS: _json({seat: self._seats[seat].on_deadline(part) for seat, part in parts.items()})}

    async def on_episode(self, payload: Payload, cause: EndCause) -> Payload:
        """Ends the episode on all seats; one that a stop does not name ends without a payload of its own."""
        parts = {} if payload is None else self._parts(payload)
        ends: dict[str, Awaitable[Payload]] = {}
        for seat, agent in self._seats.items():
            part = parts.get(seat)
            if not ends and isinstance(payload, dict) and SCORES in payload:  # The first one decides the match.
                part = {**(part if isinstance(part, dict) else {}), SCORES: payload[SCORES]}
            ends[seat] = agent.on_episode(part, cause)
        told = await self._ask(ends)
        return {SEATS: _json(told)}

    def on_resume(self, missed: int | None) -> None:
        """Tells all seats that ticks are missing."""
        for agent in self._seats.values():
            agent.on_resume(missed)

    def state_dict(self) -> Tree:
        """Returns the states of all seats."""
        seats: list[Tree] = [[seat, agent.state_dict()] for seat, agent in self._seats.items()]
        return {SEATS: seats, "learner": self._learner, "broken": self._broken}

    async def load_state_dict(self, state: Tree) -> None:
        """Takes over an episode on all of its seats.

        Raises:
          SnapshotError: It is no state of such an agent, or nobody here can play a seat.
        """
        held = cast("dict[str, Any]", state)
        if not isinstance(state, dict) or SEATS not in held:
            raise SnapshotError(f"the state of a whole match has {SEATS}, learner and broken")
        self._sit([int(seat) for seat, _ in held[SEATS]])
        self._learner, self._broken = held["learner"], held["broken"]
        for seat, inner in held[SEATS]:
            await self._seats[seat].load_state_dict(inner)

    def _sit(self, seats: list[int]) -> None:
        game = game_of(self._session)
        self._seats = {str(seat): self._seat(f"{game}-agent-seat.{seat}") for seat in seats}

    def _parts(self, payload: Payload) -> Mapping[str, Payload]:
        if self._broken is not None:
            raise AgentError(f"{self._broken}; start a new game")
        seats = payload.get(SEATS, {}) if isinstance(payload, dict) else None
        if not isinstance(seats, dict) or not seats.keys() <= self._seats.keys():
            got = sorted(map(str, seats)) if isinstance(seats, dict) else type(payload).__name__
            raise BadPayloadError(f"{SEATS} is an object by the numbers of seats, {self._allowed()}; got {got}"[:400])
        return cast("Mapping[str, Payload]", seats)

    def _allowed(self) -> str:
        return ", ".join(self._seats) or "none before the start"

    async def _ask(self, answers: Mapping[str, Awaitable[Payload]]) -> dict[str, Payload]:
        """Returns the answer of each seat; with one that fails the session is over for all."""
        try:
            found = await asyncio.gather(*answers.values(), return_exceptions=True)
        except asyncio.CancelledError:
            self._broken = f"a step of session {self._session!r} was broken off"
            raise
        for seat, answer in zip(answers, found, strict=True):
            if isinstance(answer, BaseException):
                self._broken = f"seat {seat} of session {self._session!r} has failed: {answer}"
                raise answer
        return dict(zip(answers, cast("list[Payload]", found), strict=True))


def _json(answers: Mapping[str, Payload]) -> dict[str, Json]:
    """Returns the answers of those who have one."""
    return {seat: cast("Json", answer) for seat, answer in answers.items() if answer is not None}
