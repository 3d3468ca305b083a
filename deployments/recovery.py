"""Brings games back whose replica was lost, from their last snapshots."""

import asyncio
import logging
from collections import Counter
from functools import partial

from ray.exceptions import RayError

from app.errors import OverloadedError, SessionLostError, SnapshotError
from app.sessions.game import Game
from app.sessions.shared_tasks import SharedTasks
from app.sessions.snapshot import restore_session
from app.sessions.table import SessionTable
from app.stores.snapshots import Snapshots
from deployments.batched import PATIENCE_S
from deployments.members import Members

_log = logging.getLogger(__name__)


class Recovery:
    """Takes over the games of replicas that are gone; each by one replica, and in it once."""

    def __init__(
        self, table: SessionTable, members: Members, snapshots: Snapshots | None, counts: Counter[str]
    ) -> None:
        """Makes the recovery of one replica.

        Args:
          table: Where recovered games go on.
          members: Reaches the directory.
          snapshots: Where snapshots are kept; None where none are: then every such game is lost.
          counts: Where recovered and lost games are counted.
        """
        self._table = table
        self._members = members
        self._snapshots = snapshots
        self._counts = counts
        self._recovering: SharedTasks[str | None] = SharedTasks()

    async def recover(self, game: str) -> str | None:
        """Returns who holds a game whose owner is gone; None where it is over.

        Raises:
          SessionLostError: Nobody can bring it back.
          OverloadedError: The stores do not answer.
        """
        if self._snapshots is None:
            raise SessionLostError(f"the replica that held game {game!r} is gone, and no snapshots are kept")
        return await self._recovering.result(game, partial(self._recover, game, self._snapshots))

    async def claimed(self, game_id: str, epoch: int) -> None:
        """Brings back what is left of a game that was claimed for a start after its owner was gone."""
        if self._snapshots is not None:
            await self._restore(game_id, epoch, self._snapshots)

    async def _recover(self, game_id: str, snapshots: Snapshots) -> str | None:
        try:
            async with asyncio.timeout(PATIENCE_S):
                found = await self._members.directory.recover(game_id, self._members.own.name)
                if found.claim is None:
                    return None
                if found.owner is None or found.owner.name != self._members.own.name:
                    return found.claim.owner
                if game_id in self._table.games or await self._restore(game_id, found.claim.epoch, snapshots):
                    return found.claim.owner
                await self._members.directory.give_up(game_id, self._members.own.name)
        except (RayError, TimeoutError) as error:
            raise OverloadedError(f"the stores did not answer in the recovery of game {game_id!r}: {error}") from error
        self._counts["games_lost"] += 1
        raise SessionLostError(f"the replica that held game {game_id!r} is gone, and there is no snapshot of it")

    async def _restore(self, game_id: str, epoch: int, snapshots: Snapshots) -> bool:
        game = Game(game_id, epoch)
        for data in await snapshots.fetch(game_id):
            try:
                await restore_session(self._table, game, data, crashed=True)
            except SnapshotError:
                _log.exception("a session of game %r is lost", game_id)
                self._counts["sessions_lost"] += 1
        if not game.sessions:
            return False
        self._table.games.enter(game)
        self._counts["games_recovered"] += 1
        _log.warning("game %r goes on here from its last snapshots", game_id)
        return True
