"""The matches that the games of one process play: who sits on which seat, and how each game ends."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, NamedTuple, Protocol
from weakref import WeakValueDictionary

from app.errors import BadPayloadError, BadRequestError
from app.league.matches import ABORTED, Match, Result, Side
from app.seeding import derive
from app.types import SessionId

Report = Callable[[str, Result], None]
"""Takes how the match of an id has ended; never waits."""


class AskMatch(Protocol):
    """Gives matches out."""

    def __call__(self, trainer: str) -> Awaitable[Match]:
        """Returns a match for the player whom a trainer has.

        Raises:
          LeagueError: The league knows no such trainer.
          OverloadedError: The league does not answer.
        """


class Seat(NamedTuple):
    """One place in a game."""

    number: int
    """From 0 on."""
    place: int
    """Of its side in the match."""


class GameMatch:
    """The match of one game: each of its sessions has a seat, and gives the seat's score when it ends."""

    def __init__(self, match: Match, report: Report) -> None:
        """Begins a match, or goes on with one that began elsewhere."""
        self.match = match
        self._report = report
        self._order = seating(match)
        self._taken: dict[int, SessionId] = {}
        self.scores: dict[int, float] = {}
        """By seat; those of sessions that are over."""
        self._over = False

    def sit(self, number: int | None, session: SessionId) -> Seat:
        """Returns a seat that is free: that of a number, or the first one; a session whose start is repeated, its own.

        Raises:
          BadRequestError: There is no such seat, or somebody sits there.
        """
        own = next((seat for seat, sitting in self._taken.items() if sitting == session), None)
        if own is not None:
            return Seat(own, self._order[own])
        free = [seat for seat in range(len(self._order)) if seat not in self._taken]
        if not free or (number is not None and number not in free):
            wanted = "one more session" if number is None else f"session number {number}"
            allowed = ", ".join(map(str, free)) or "none"
            raise BadRequestError(
                f"{wanted} wants a seat of match {self.match.id}, which has {len(self._order)}; free are {allowed}"
            )
        return self.take(free[0] if number is None else number, session)

    def take(self, number: int, session: SessionId) -> Seat:
        """Returns a seat, taken by a session."""
        self._taken[number] = session
        return Seat(number, self._order[number])

    def side(self, seat: Seat) -> Side:
        """Returns whose seat it is."""
        return self.match.sides[seat.place]

    def score(self, seat: Seat, score: float | None) -> None:
        """Takes how a seat has ended; with the last one the match is reported.

        Args:
          seat: Which.
          score: The larger, the better; None: its game was broken off, and nobody has won the match.
        """
        if self._over:
            return
        if score is None:
            self._end(ABORTED)
            return
        self.scores[seat.number] = score
        if len(self.scores) == len(self._order):
            self._end_with_scores()

    def decide(self, scores: Sequence[float]) -> None:
        """Takes the scores of all seats at once, also of those that no session plays.

        Raises:
          BadPayloadError: There are not as many as seats.
        """
        if len(scores) != len(self._order):
            raise BadPayloadError(f"match {self.match.id} has {len(self._order)} seats, got {len(scores)} scores")
        if not self._over:
            self.scores = dict(enumerate(scores))
            self._end_with_scores()

    def _end_with_scores(self) -> None:
        self._end(Result(tuple(self._score_of(place) for place in range(len(self.match.sides)))))

    def _score_of(self, place: int) -> float:
        """Returns the mean over a side's seats."""
        own = [self.scores[seat] for seat, side in enumerate(self._order) if side == place]
        return sum(own) / len(own)

    def _end(self, result: Result) -> None:
        self._over = True
        self._report(self.match.id, result)


class GameMatches:
    """Finds the match of a game; a game is forgotten with the last of its sessions, however that goes."""

    def __init__(self, ask: AskMatch, report: Report) -> None:
        """Keeps who gives matches out, and who takes results."""
        self._ask = ask
        self._report = report
        self._games: WeakValueDictionary[str, GameMatch] = WeakValueDictionary()
        self._asking: dict[str, asyncio.Task[GameMatch]] = {}

    async def join(self, game: str, trainer: str) -> GameMatch:
        """Returns the match of a game; the first who asks decides for whose player it is.

        Raises:
          LeagueError: The league knows no such trainer.
          OverloadedError: The league does not answer.
        """
        found = self._games.get(game)
        if found is not None:
            return found
        if game not in self._asking:
            task = self._asking[game] = asyncio.get_running_loop().create_task(self._begin(game, trainer))
            task.add_done_callback(lambda done: self._asked(game, done))
        return await asyncio.shield(self._asking[game])

    def rejoin(self, game: str, match: Match, scores: dict[int, float]) -> GameMatch:
        """Returns the match of a game that goes on here.

        Args:
          game: Which.
          match: As its first session was told.
          scores: Of sessions that were over when it left.
        """
        found = self._games.get(game)
        if found is None or found.match.id != match.id:
            found = self._games[game] = GameMatch(match, self._report)
        found.scores.update(scores)
        return found

    def _asked(self, game: str, done: asyncio.Task[GameMatch]) -> None:
        del self._asking[game]
        if not done.cancelled():
            done.exception()  # Whoever waited has been told; there may be nobody left.

    async def _begin(self, game: str, trainer: str) -> GameMatch:
        begun = self._games[game] = GameMatch(await self._ask(trainer), self._report)
        return begun


_FIRST_SEAT: Final = "first seat"


def seating(match: Match) -> tuple[int, ...]:
    """Returns the place of each seat's side: sides sit together, and which is first differs from match to match."""
    places = len(match.sides)
    first = derive(0, _FIRST_SEAT, match.id) % places
    order = [(first + at) % places for at in range(places)]
    return tuple(place for place in order for _ in range(match.sides[place].seats))
