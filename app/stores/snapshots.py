"""Keeps the newest snapshot of each session outside the replica that plays it."""

from dataclasses import dataclass, field
from typing import Final, cast

from app.stores.host import StoreHandle
from app.types import SessionId

SAVE_TIMEOUT_S: Final = 1.0
"""Longest wait of a tick for its snapshot."""


@dataclass(frozen=True, slots=True)
class Saved:
    """One session's snapshot on its way to the store."""

    session: SessionId
    game: str
    epoch: int
    data: bytes


@dataclass(slots=True)
class _Game:
    epoch: int
    sessions: dict[SessionId, bytes] = field(default_factory=dict)


class SnapshotStore:
    """The newest snapshots, bounded in bytes; one of an older epoch than the game's is refused."""

    def __init__(self, max_bytes: int) -> None:
        self._max = max_bytes
        self._bytes = 0
        self._games: dict[str, _Game] = {}

    async def start(self) -> None:
        """Does nothing: snapshots come from the replicas, again after a restart."""

    async def save(self, snapshots: list[Saved]) -> list[SessionId]:
        """Keeps snapshots and returns the sessions whose were refused."""
        return [saved.session for saved in snapshots if not self._keep(saved)]

    async def fetch(self, game: str) -> list[bytes]:
        """Returns the snapshots of a game's sessions; none where the game is unknown."""
        found = self._games.get(game)
        return [] if found is None else list(found.sessions.values())

    async def end(self, sessions: list[tuple[str, SessionId]]) -> None:
        """Forgets sessions that are over, given as game and session."""
        for game, session in sessions:
            found = self._games.get(game)
            if found is not None and session in found.sessions:
                self._bytes -= len(found.sessions.pop(session))
                if not found.sessions:
                    del self._games[game]

    def _keep(self, saved: Saved) -> bool:
        game = self._games.get(saved.game) or _Game(saved.epoch)
        growth = len(saved.data) - len(game.sessions.get(saved.session, b""))
        if saved.epoch < game.epoch or self._bytes + growth > self._max:
            return False
        game.epoch = saved.epoch
        game.sessions[saved.session] = saved.data
        self._games[saved.game] = game
        self._bytes += growth
        return True


class Snapshots:
    """What a replica asks of the snapshot store."""

    def __init__(self, handle: StoreHandle) -> None:
        self._handle = handle

    async def save(self, snapshots: list[Saved]) -> list[SessionId]:
        """Keeps snapshots and returns the sessions whose were refused: too old, or the store is full."""
        return cast("list[SessionId]", await self._handle.call("save", snapshots))

    async def fetch(self, game: str) -> list[bytes]:
        """Returns the snapshots of a game's sessions."""
        return cast("list[bytes]", await self._handle.call("fetch", game))

    async def end(self, sessions: list[tuple[str, SessionId]]) -> None:
        """Forgets sessions that are over, given as game and session."""
        await self._handle.call("end", sessions)
