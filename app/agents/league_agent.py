"""An agent that plays one seat of a league's match: which player sits there, the league says at the start."""

import math
from collections.abc import Callable
from typing import Any, Final, cast

from app.errors import AgentError, BadPayloadError, LeagueError, SnapshotError
from app.league.matches import Match, Side
from app.league.seats import GameMatch, GameMatches, Seat, seating
from app.league.written import match_of, match_tree
from app.sessions.ids import game_of, number_of
from app.sessions.session import EndCause, SessionAgent
from app.types import SessionId, Version
from app.wire.payload import Codec, Payload
from app.wire.trees import Tree

MakeSide = Callable[[Side, Callable[[float], None]], SessionAgent]
"""Returns who plays a side, and takes what is to be told of each finished episode's return.

It raises a ``LeagueError`` where nobody here can play it.
"""
SCORE: Final = "score"
"""Field of a stop that says how the match went for the seat, the larger the better; without it the return does."""
SCORES: Final = "scores"
"""Field of a stop that says so for all seats, by their numbers: also for those that the game core plays itself."""
REWARD: Final = "reward"
"""Field of ticks and stops whose sum is the return of a player who reports none, such as a script."""
ENDS: Final = ("terminated", "truncated")
"""Fields of a stop of which one is true where the game was played to its end."""


class LeagueAgent:
    """Answers as the player does who sits on its seat, and tells the match how the seat has ended."""

    def __init__(
        self, session: SessionId, trainer: str, codec: Codec, games: GameMatches, make: MakeSide, *, tells: bool
    ) -> None:
        """Makes the agent of one session.

        Args:
          session: Its id; a number at its end names its seat.
          trainer: Whose player the match is for, where this session is the first of its game.
          codec: What translates payloads; that of the agent whom the session names.
          games: Matches of the games of this replica.
          make: Makes who plays.
          tells: Whether a start is answered with who plays whom where the player has no answer; JSON, so that the codec
            must be able to send it.
        """
        self._session = session
        self._trainer = trainer
        self._codec = codec
        self._games = games
        self._make = make
        self._tells = tells
        self._game: GameMatch | None = None
        self._seat = Seat(0, 0)
        self._inner: SessionAgent | None = None
        self._return: float | None = None
        """As the player reports it, once the episode is finished."""
        self._rewards = 0.0
        """Sum over the payloads so far."""

    def payloads(self) -> Codec:
        """Returns what translates payloads."""
        return self._codec

    @property
    def version(self) -> Version | None:
        """Returns the weights behind the last answer."""
        return None if self._inner is None else self._inner.version

    async def on_start(self, options: Payload) -> Payload:
        """Begins an episode, and returns the player's answer, or who plays whom.

        Raises:
          AgentError: The league has no match for it.
          BadRequestError: There is no such seat.
        """
        try:
            game = await self._games.join(game_of(self._session), self._trainer)
            self._sit(game, game.sit(number_of(self._session), self._session))
        except LeagueError as error:
            raise AgentError(str(error)) from error
        answer = await self._playing.on_start(options)
        return self._who_plays(game.match) if answer is None and self._tells else answer

    async def on_tick(self, payload: Payload) -> Payload:
        """Returns the player's answer."""
        self._rewards += _reward(payload)
        return await self._playing.on_tick(payload)

    def on_deadline(self, payload: Payload) -> Payload:
        """Returns the player's answer to a tick whose time is up."""
        return self._playing.on_deadline(payload)

    async def on_episode(self, payload: Payload, cause: EndCause) -> Payload:
        """Ends the episode and gives the seat its score; one that the service ends ends the match without a winner."""
        score, scores = _score(payload), _scores(payload)
        if scores is not None and self._game is not None:
            self._game.decide(scores)
        answer = await self._playing.on_episode(payload, cause)
        if score is None:
            score = self._return
        if score is None and isinstance(payload, dict) and any(payload.get(end) is True for end in ENDS):
            score = self._rewards + _reward(payload)
        if self._game is not None:
            self._game.score(self._seat, score)
        return answer

    def on_resume(self, missed: int | None) -> None:
        """Tells the player that ticks are missing."""
        self._playing.on_resume(missed)

    def state_dict(self) -> Tree:
        """Returns the player's state with the match that it plays."""
        if self._game is None:
            return {"match": None}
        return {
            "match": match_tree(self._game.match),
            "scores": [[seat, score] for seat, score in self._game.scores.items()],
            "seat": self._seat.number,
            "rewards": self._rewards,
            "agent": self._playing.state_dict(),
        }

    async def load_state_dict(self, state: Tree) -> None:
        """Takes over an episode, and its seat with it.

        Raises:
          SnapshotError: It is no state of such an agent, or nobody here can play its side.
        """
        held = cast("dict[str, Any]", state)
        if not isinstance(state, dict) or "match" not in held:
            raise SnapshotError("the state of a league's agent has match, scores, seat, rewards and agent")
        if held["match"] is None:
            return
        try:
            game = self._games.rejoin(
                game_of(self._session), match_of(held["match"]), {int(seat): float(x) for seat, x in held["scores"]}
            )
            self._sit(game, game.take(held["seat"], self._session))
            self._rewards = held["rewards"]
        except LeagueError as error:
            raise SnapshotError(f"session {self._session!r} cannot go on here: {error}") from error
        await self._playing.load_state_dict(held["agent"])

    @property
    def _playing(self) -> SessionAgent:
        if self._inner is None:
            raise AgentError(f"session {self._session!r} has not begun a match")
        return self._inner

    def _sit(self, game: GameMatch, seat: Seat) -> None:
        self._inner = self._make(game.side(seat), self._note)
        self._game, self._seat = game, seat

    def _note(self, returned: float) -> None:
        self._return = returned

    def _who_plays(self, match: Match) -> Payload:
        return {
            "match": match.id,
            "seat": self._seat.number,
            "side": self._seat.place,
            "players": [side.player for side in match.sides],
            "seats": list(seating(match)),
        }


def _score(payload: Payload) -> float | None:
    """Returns the score that a stop carries; None where it has none.

    Raises:
      BadPayloadError: It is no finite number.
    """
    if not isinstance(payload, dict) or SCORE not in payload:
        return None
    score = cast("dict[str, Any]", payload)[SCORE]
    if not _finite(score):
        raise BadPayloadError(f"{SCORE} is {score!r}; allowed is a finite number")
    return float(score)


def _scores(payload: Payload) -> list[float] | None:
    """Returns the scores of all seats that a stop carries; None where it has none.

    Raises:
      BadPayloadError: They are no list of finite numbers.
    """
    if not isinstance(payload, dict) or SCORES not in payload:
        return None
    scores = cast("dict[str, Any]", payload)[SCORES]
    if not isinstance(scores, list) or not all(_finite(score) for score in scores):
        raise BadPayloadError(f"{SCORES} is {scores!r}; allowed is a list of finite numbers, one for each seat")
    return [float(score) for score in scores]


def _finite(number: object) -> bool:
    return isinstance(number, int | float) and not isinstance(number, bool) and math.isfinite(number)


def _reward(payload: Payload) -> float:
    """Returns the reward that a payload carries; 0 where it has none that is a finite number."""
    reward = payload.get(REWARD) if isinstance(payload, dict) else None
    return float(cast("float", reward)) if _finite(reward) else 0.0
