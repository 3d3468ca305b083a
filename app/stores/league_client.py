"""What actors, trainers and operators ask of the league."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from ray.exceptions import ActorUnavailableError, GetTimeoutError, RayTaskError

from app.config.league import LeagueConfig
from app.errors import LeagueError, SparringError
from app.league.league import DUEL
from app.league.matches import Match, MatchId, Reply, Result, Side
from app.league.payoff import PlayerId
from app.league.periods import Due, Freeze
from app.league.players import LearningPlayer, Weights
from app.league.report import LeagueReport
from app.stores.host import StoreHandle

if TYPE_CHECKING:
    import ray

CALL_S: Final = 30.0
"""Longest wait for an answer, also while the league's process starts anew."""
AGAIN_S: Final = 0.2
"""Pause before a call is repeated whose answer went with the process."""


class LeagueClient:
    """One league; those without an event loop use the functions that end in ``_now``.

    A call whose answer is lost with the league's process is repeated: each of them may be asked again.
    """

    def __init__(self, handle: StoreHandle) -> None:
        self._handle = handle

    async def next_match(self, player: PlayerId, seats: Sequence[int] = DUEL, own: int = 0) -> Match:
        """Returns a match for a learning player, whose opponents are drawn.

        Args:
          player: Who is to learn from it.
          seats: Agents of each side.
          own: Place of the player's side.

        Raises:
          LeagueError: The player does not learn here, or the sides are none.
        """
        return cast("Match", await self._asked("next_match", player, tuple(seats), own))

    async def next_of(self, trainer: str, seats: Sequence[int] = DUEL) -> Match:
        """Returns a match for the player that a trainer has now.

        Raises:
          LeagueError: The trainer has no player, or the sides are none.
        """
        return cast("Match", await self._asked("next_of", trainer, tuple(seats)))

    async def next_evaluation(self, seats: Sequence[int] = DUEL, pool: str | None = None) -> Match:
        """Returns a match of frozen players from which nobody learns, where its result says most.

        Raises:
          LeagueError: There are not two players who could meet, or the sides are none.
        """
        return cast("Match", await self._asked("next_evaluation", tuple(seats), pool))

    async def report(self, match: MatchId, result: Result) -> Reply:
        """Sends a result; once this returns it is counted and written down, and it is safe to send it again.

        Raises:
          LeagueError: The result does not fit the match.
        """
        return cast("Reply", await self._asked("report", match, result))

    async def next_opponent(self, level: float | None = None, rating: float | None = None) -> Side:
        """Returns a frozen player for a live game: of a level from 0 to 1, or the one nearest to a rating.

        Raises:
          LeagueError: Nobody is frozen, or the level is none.
        """
        return cast("Side", await self._asked("next_opponent", level, rating))

    async def side(self, player: PlayerId) -> Side:
        """Returns a side that a player plays, without a match.

        Raises:
          LeagueError: There is no such player.
        """
        return cast("Side", await self._asked("side", player))

    async def show(self, matches: int = 0, players: int | None = None) -> LeagueReport:
        """Returns how the league stands, with its newest matches and strongest players; None: all players."""
        return cast("LeagueReport", await self._asked("show", matches, players))

    # For code without an event loop.

    def configure_now(self, config: LeagueConfig, weights: Mapping[str, Weights], timeout_s: float = CALL_S) -> None:
        """Has the league go on by a config, once it has started.

        Args:
          config: Of the league.
          weights: What its references to weights stand for, by reference.
          timeout_s: Longest wait.

        Raises:
          LeagueError: Its files cannot be gone on from with that config, or it does not answer.
        """
        self._got("configure", config, dict(weights), timeout_s=timeout_s)

    def at_now(self, trainer: str) -> LearningPlayer:
        """Returns the player that a trainer is to go on with.

        Raises:
          LeagueError: The trainer has no player, or the league does not answer.
        """
        return cast("LearningPlayer", self._got("at", trainer))

    def ask_at(self, trainer: str) -> "ray.ObjectRef[Any]":
        """Asks for the ``LearningPlayer`` that a trainer is to go on with; nobody has to wait for the answer."""
        return self._handle.call("at", trainer)

    def begin_anew_now(self) -> bool:
        """Lays the league aside where players have learned in it, begins with nothing, and returns whether.

        Raises:
          LeagueError: It cannot be laid aside, or the league does not answer.
        """
        return bool(self._got("begin_anew"))

    def due_now(self, player: PlayerId, updates: int) -> Due:
        """Returns what a trainer is to do with its player after some updates since it took it over.

        Raises:
          LeagueError: The player does not learn here, or the league does not answer.
        """
        return cast("Due", self._got("due", player, updates))

    def freeze_now(self, player: PlayerId, period: int, weights: Weights, anew: bool | None = None) -> Freeze:
        """Freezes a player at the end of a period; it is safe to ask again.

        Raises:
          LeagueError: The player does not learn here, the period has not begun, or the league does not answer.
        """
        return cast("Freeze", self._got("freeze", player, period, weights, anew))

    def taken_over_now(self, player: PlayerId) -> LearningPlayer:
        """Notes that a trainer has taken over and published a player's weights.

        Raises:
          LeagueError: The player does not learn here, or the league does not answer.
        """
        return cast("LearningPlayer", self._got("taken_over", player))

    def turn_now(self, trainer: str, leaving: PlayerId, weights: Weights, updates: int) -> LearningPlayer:
        """Turns a trainer to the next of its players, and returns that one; it is safe to ask again.

        Raises:
          LeagueError: The player is not the trainer's, or the league does not answer.
        """
        return cast("LearningPlayer", self._got("turn", trainer, leaving, weights, updates))

    def show_now(self, matches: int = 0, timeout_s: float = CALL_S) -> LeagueReport:
        """Returns how the league stands, with its newest matches.

        Raises:
          LeagueError: The league does not answer.
        """
        return cast("LeagueReport", self._got("show", matches, timeout_s=timeout_s))

    def folder_now(self) -> Path:
        """Returns where the league writes, on the node of its process.

        Raises:
          LeagueError: The league does not answer.
        """
        return Path(cast("str", self._got("folder")))

    async def _asked(self, method: str, *args: Any) -> Any:  # Ray's own seam is untyped.
        try:
            async with asyncio.timeout(CALL_S):
                while True:
                    try:
                        return await self._handle.call(method, *args)
                    except ActorUnavailableError:
                        await asyncio.sleep(AGAIN_S)
        except RayTaskError as error:
            raise _own(error) from error
        except TimeoutError as error:
            raise LeagueError(f"the league does not answer within {CALL_S:g} s") from error

    def _got(self, method: str, *args: Any, timeout_s: float = CALL_S) -> Any:  # As above.
        end_s = time.monotonic() + timeout_s
        while True:
            try:
                return self._handle.get(method, *args, timeout_s=max(end_s - time.monotonic(), 0.0))
            except RayTaskError as error:
                raise _own(error) from error
            except GetTimeoutError as error:
                raise LeagueError(f"the league does not answer within {timeout_s:g} s") from error
            except ActorUnavailableError:
                time.sleep(AGAIN_S)


def _own(error: RayTaskError) -> Exception:
    return error.cause if isinstance(error.cause, SparringError) else error
