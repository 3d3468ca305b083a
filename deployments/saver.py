"""Sends snapshots of sessions to their store: what waits while one call is under way goes with the next."""

import logging
from collections import Counter

from ray.exceptions import RayError

from app.errors import OverloadedError, SnapshotError
from app.sessions.session import Session
from app.sessions.snapshot import save_session
from app.stores.snapshots import Saved, Snapshots
from deployments.batched import Batched

_log = logging.getLogger(__name__)


class Saver:
    """Keeps snapshots outside this process; a game goes on though that fails, and it is counted."""

    def __init__(self, snapshots: Snapshots, counts: Counter[str]) -> None:
        self._snapshots = snapshots
        self._counts = counts
        self._sending: Batched[Saved, bool] = Batched(self._send)
        self._unsaved: set[str] = set()
        """Agent classes whose state was found to be unwritable: the log names each once."""

    async def __call__(self, session: Session) -> None:
        """Returns once the session's snapshot is kept, or has failed."""
        seq = session.seq
        try:
            saved = save_session(session)
        except SnapshotError as error:
            self._fail(type(session.agent).__name__, error)
            return
        try:
            kept = await self._sending.ask(Saved(session.id, session.game.id, session.game.epoch, saved.data))
        except OverloadedError as error:
            self._fail("store", error)
            return
        if kept:
            session.saved_seq = seq
            self._counts["snapshots_saved"] += 1
        else:
            self._fail("refused", SnapshotError("the store is full, or another replica holds the game"))

    async def end(self, sessions: list[tuple[str, str]]) -> None:
        """Forgets sessions that are over, given as game and session."""
        try:
            await self._snapshots.end(sessions)
        except RayError as error:
            _log.warning("the snapshot store does not answer: %s", error)

    async def save_all(self, sessions: list[Session]) -> None:
        """Saves sessions again, to a store that has forgotten them."""
        for session in sessions:
            async with session.lock:
                await self(session)

    async def _send(self, snapshots: list[Saved]) -> list[bool]:
        refused = set(await self._snapshots.save(snapshots))
        return [saved.session not in refused for saved in snapshots]

    def _fail(self, kind: str, error: Exception) -> None:
        self._counts["snapshots_failed"] += 1
        if kind not in self._unsaved:
            self._unsaved.add(kind)
            _log.error("a snapshot could not be kept: %s", error)
