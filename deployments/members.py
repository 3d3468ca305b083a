"""Keeps a replica in the directory, and knows the others of its actor."""

import asyncio
import logging
import math
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from ray.exceptions import RayError

from app.client.reach import Reach, reach
from app.errors import OverloadedError
from app.sessions.directory import LEASE_S, Replica
from app.sessions.placement import better_place
from app.sessions.shared_tasks import SharedTasks
from app.sessions.table import SessionTable
from app.stores.directory import DirectoryClient, Membership

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

BEAT_S = 0.5
"""Seconds between two reports: a directory that was restarted hears of every game within its wait for them."""
BEAT_TIMEOUT_S = 2.0
"""Longest wait for the answer to a report."""
REACH_TIMEOUT_S = 1.0
"""Longest wait for the directory's node to accept a connection."""

_log = logging.getLogger(__name__)


class Members:
    """The replicas that this one knows, by its last report."""

    def __init__(self, directory: DirectoryClient, own: Replica, port: int, table: SessionTable) -> None:
        """Makes a member that has not joined yet.

        Args:
          directory: Where replicas meet.
          own: This replica.
          port: Game port that it listens on; 0 where it listens on none.
          table: Whose games are reported.
        """
        self.directory = directory
        self.own = own
        self._port = port
        self._table = table
        self._directory_name = ""
        self._games: dict[str, int] = {}
        self.replicas: dict[str, Replica] = {}
        self.rejoined: Callable[[], Awaitable[None]] | None = None
        """Called when the directory, and the stores beside it, began anew."""
        self._node = ("", 0)
        self._held_until_s = math.inf
        self._renewing: SharedTasks[None] = SharedTasks()

    async def join(self, endpoint: str) -> None:
        """Enters the directory and learns who is there.

        Args:
          endpoint: ``host:port`` where clients reach this very replica.
        """
        self.own = replace(self.own, endpoint=endpoint)
        await self.directory.join(self.own, self._port, self._held())
        self._directory_name = (await self._report()).directory

    async def run(self) -> None:
        """Reports for as long as it runs."""
        while True:
            await asyncio.sleep(BEAT_S)
            await self.beat()

    async def beat(self) -> None:
        """Reports once; a directory that does not answer is asked again the next time."""
        try:
            async with asyncio.timeout(BEAT_TIMEOUT_S):
                found = await self._report()
                if found.directory != self._directory_name or not found.known:
                    await self._rejoin(found.directory)
        except (RayError, TimeoutError) as error:
            _log.warning("the directory of games does not answer, asking again: %s", error)

    def lapsed(self) -> bool:
        """Returns whether another replica may have games of this one by now, since no report was answered for long.

        On the directory's own node it never is.
        """
        return now_s() >= self._held_until_s

    async def renew(self) -> None:
        """Reports again; where the directory does not answer, its node must.

        Then the directory's process has ended, and its next one is told who holds what.

        Raises:
          OverloadedError: This replica is cut off.
        """
        await self._renewing.result("lease", self._renew)

    def better_place(self) -> str | None:
        """Returns the replica that should take a new game instead of this one."""
        own_games = self._table.games.playing
        full = self._table.draining or own_games >= self._table.limits.max_games
        others = {name: games for name, games in self._games.items() if name != self.own.name}
        place = better_place(own_games, others, full=full)
        if place is not None:
            self._games[place] += 1  # Its next report is half a second away.
        return place

    def takers(self) -> list[Replica]:
        """Returns the other replicas that take games, those with the fewest first."""
        names = sorted((games, name) for name, games in self._games.items() if name != self.own.name)
        return [self.replicas[name] for _, name in names if name in self.replicas]

    async def leave(self) -> None:
        """Leaves the directory."""
        await self.directory.leave(self.own.name)

    def _held(self) -> list[tuple[str, int]]:
        return [(game.id, game.epoch) for game in self._table.games.all()]

    async def _renew(self) -> None:
        await self.beat()
        if not self.lapsed():
            return
        begun_s = now_s()
        if await reach(*self._node, REACH_TIMEOUT_S) is not Reach.ACCEPTED:
            raise OverloadedError("this replica is cut off from the directory: another may have its games by now")
        self._held_until_s = begun_s + LEASE_S

    async def _report(self) -> Membership:
        begun_s = now_s()
        found = await self.directory.report(self.own, self._table.games.playing, self._table.draining)
        if self._directory_name in {"", found.directory}:  # One that began anew has still to be told who is there.
            self.replicas = {replica.name: replica for replica in found.replicas}
            self._games = dict(found.games)
        self._node = found.node
        near = self.own.host == found.node[0] or self.own.host.startswith("127.")
        if near or found.known:
            self._held_until_s = math.inf if near else begun_s + LEASE_S
        return found

    async def _rejoin(self, directory_name: str) -> None:
        """Tells a directory that began anew, or took this replica for gone, what is held here.

        What another holds by now is dropped.
        """
        others = list(self.replicas.values())
        for game_id in await self.directory.join(self.own, self._port, self._held(), others):
            game = self._table.games.get(game_id)
            if game is not None:
                _log.error("game %r is held by another replica by now; it ends here", game_id)
                self._table.forget(game)
        anew, self._directory_name = directory_name != self._directory_name, directory_name
        if anew and self.rejoined is not None:
            await self.rejoined()


def now_s() -> float:
    """Returns seconds that never go back."""
    return time.monotonic()
