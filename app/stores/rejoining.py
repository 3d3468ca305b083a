"""A directory that began anew knows no game, and must not say of one that nobody holds it before all have told."""

import asyncio
import logging
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from app.client.reach import Reach, reach
from app.sessions.directory import SILENT_S, Directory, Replica

REJOIN_S: Final = 1.5
"""Least wait: every replica that is well has told what it holds by then."""
AWAITED_S: Final = 30.0
"""Longest wait for a replica whose process lives, and tells nothing: beyond it no game could begin for its sake."""
LOOK_S: Final = 0.2
"""Pause between two looks at those that have not told yet."""
REACH_TIMEOUT_S: Final = 1.0
"""Longest wait for one of them to accept a connection."""

_log = logging.getLogger(__name__)


class Rejoining:
    """Finds out by whoever comes back who else was there, and waits for those."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory
        self._told = asyncio.Event()

    def tell(self, others: Sequence[Replica]) -> None:
        """Takes whom a replica knew by the directory before; a replica that is new knew nobody."""
        if others:
            self._told.set()
        self._directory.expect(others, time.monotonic())

    async def heard(self) -> None:
        """Returns once each replica that anyone knew has told what it holds, or is gone."""
        begun_s = time.monotonic()
        await asyncio.sleep(REJOIN_S)
        with suppress(TimeoutError):  # Nobody is left who was there before.
            async with asyncio.timeout(SILENT_S):
                await self._told.wait()
        while self._directory.awaited and time.monotonic() - begun_s < AWAITED_S:
            await asyncio.gather(*map(self._look, self._awaited()))
            await asyncio.sleep(LOOK_S)
        for replica in self._awaited():
            _log.error("replica %s lives and has not told within %g s what it holds", replica.name, AWAITED_S)
            self._directory.leave(replica.name)

    async def _look(self, replica: Replica) -> None:
        """Removes a replica that is gone."""
        reached = await reach(replica.host, replica.peer_port, REACH_TIMEOUT_S)
        if replica.name not in self._directory.awaited:
            return  # It has told meanwhile.
        if reached is Reach.REFUSED:
            self._directory.leave(replica.name)
        elif reached is Reach.SILENT:
            self._directory.leave_if_silent(replica.name, time.monotonic())

    def _awaited(self) -> list[Replica]:
        return [self._directory.replicas[name] for name in self._directory.awaited]
