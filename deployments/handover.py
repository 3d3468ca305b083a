"""Hands games of a replica that goes away to those that stay, and takes such games in."""

import asyncio
import logging
from collections import Counter
from typing import Any, Final, cast

from ray.exceptions import RayError

from app.client.kept import ConnectionLostError
from app.errors import DrainingError, OverloadedError, SnapshotError, TreeError
from app.sessions.directory import Replica
from app.sessions.game import Game
from app.sessions.snapshot import (
    reply_of_state,
    reply_state,
    restore_board,
    restore_session,
    save_board,
    save_session,
)
from app.sessions.table import SessionTable
from app.wire.http import JSON, HttpReply
from app.wire.trees import Tree, pack, unpack
from deployments.batched import PATIENCE_S
from deployments.links import Links, ReplicaGoneError
from deployments.members import Members

AT_ONCE: Final = 8
"""Games under way to others at a time: enough to hide the way there, few enough that steps are answered between."""
TAKE_TIMEOUT_S: Final = 5.0
"""Longest wait for a replica that takes a game."""
OK: Final = 200

_log = logging.getLogger(__name__)


class HandOver:
    """Moves games between replicas; each is played by one of them at any moment."""

    def __init__(self, table: SessionTable, members: Members, links: Links, counts: Counter[str]) -> None:
        self._table = table
        self._members = members
        self._links = links
        self._counts = counts

    async def give_all(self) -> None:
        """Hands on all games, while they are played; those that nobody takes stay."""
        games = iter(self._table.games.all())

        async def give_next() -> None:
            for game in games:
                if game.id in self._table.games:  # Else it ended meanwhile.
                    await self._give(game)

        async with asyncio.TaskGroup() as group:
            for _ in range(AT_ONCE):
                group.create_task(give_next())

    async def take(self, body: bytes) -> HttpReply:
        """Takes in a game that another replica hands on.

        Raises:
          StepError: It cannot be played here; the giver keeps it.
        """
        if self._table.draining:
            raise DrainingError("this replica goes away itself")
        if self._table.games.playing >= self._table.limits.max_games:
            raise OverloadedError(f"{self._table.games.playing} games are open, as many as are allowed")
        try:
            handed = cast("dict[str, Any]", unpack(body))
            game = Game(handed["game"], handed["epoch"])
            try:
                await self._restore(game, handed)
                game.epoch = await self._moved(game, handed["from"])
            except BaseException:
                self._table.forget(game)
                raise
        except (SnapshotError, TreeError, RayError, TimeoutError) as error:
            _log.exception("a game cannot be taken in")
            raise OverloadedError(f"the game cannot be taken in: {error}") from error
        self._table.games.enter(game)
        for session, key, state in handed["stopped"]:
            self._table.keep_stopped(session, game.id, reply_of_state(session, state), key)
        self._counts["games_taken_in"] += 1
        return HttpReply(OK, b"{}", JSON)

    async def _restore(self, game: Game, handed: dict[str, Any]) -> None:
        for data in handed["sessions"]:
            await restore_session(self._table, game, data, crashed=False)
        restore_board(game, handed["board"])

    async def _moved(self, game: Game, giver: str) -> int:
        """Returns the epoch under which the game is this replica's from now on."""
        async with asyncio.timeout(PATIENCE_S):
            claim = await self._members.directory.move(game.id, giver, game.epoch, self._members.own.name)
        if claim is None:
            raise SnapshotError(f"game {game.id!r} is not held by replica {giver} any more")
        return claim.epoch

    async def _give(self, game: Game) -> None:
        async with self._table.frozen(game):
            try:
                body = self._packed(game)
            except SnapshotError as error:
                _log.error("game %r cannot be handed on: %s", game.id, error)  # It says all.
                return
            for replica in self._members.takers():
                if await self._given(game, replica, body):
                    self._table.hand_on(game, replica.name)
                    self._counts["games_handed_on"] += 1
                    return

    def _packed(self, game: Game) -> bytes:
        sessions: list[Tree] = [save_session(session).data for session in game.sessions.values()]
        stopped: list[Tree] = [
            [kept.reply.session, kept.key, reply_state(kept.reply)] for kept in self._table.stopped.of_game(game.id)
        ]
        whole: Tree = {
            "from": self._members.own.name,
            "game": game.id,
            "epoch": game.epoch,
            "sessions": sessions,
            "board": save_board(game),
            "stopped": stopped,
        }
        return pack(whole)

    async def _given(self, game: Game, replica: Replica, body: bytes) -> bool:
        try:
            reply = await self._links.post(replica, "/adopt", {}, body, TAKE_TIMEOUT_S)
        except ReplicaGoneError:
            return False
        except ConnectionLostError as error:
            _log.warning("replica %s did not say whether it took game %r: %s", replica.name, game.id, error)
            return await self._is_with(game, replica)
        return reply.status == OK

    async def _is_with(self, game: Game, replica: Replica) -> bool:
        """Asks the directory, which alone knows, whether a replica has the game."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                (found,) = await self._members.directory.find([game.id])
        except (RayError, TimeoutError):
            return False
        return found.claim is not None and found.claim.owner == replica.name
