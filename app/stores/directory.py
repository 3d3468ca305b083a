"""The directory of games, and what every part of a trial must agree on, as a store."""

import secrets
from dataclasses import dataclass
from typing import cast

from app.sessions.directory import Directory, Replica
from app.stores.host import StoreHandle


@dataclass(frozen=True, slots=True)
class ServiceInfo:
    """What a trial's service tells whoever joins it."""

    home: str
    """Absolute state root of the project."""
    mode: str
    cluster_secret: str
    """Shared by the replicas; only who knows it may forward steps."""


class DirectoryStore:
    """One directory for all replicas of a trial."""

    def __init__(self, home: str, mode: str) -> None:
        self._info = ServiceInfo(home, mode, secrets.token_hex(16))
        self._directory = Directory()
        self._ports: dict[str, int] = {}

    async def start(self) -> None:
        """Does nothing: a directory is rebuilt by the replicas' own reports."""

    async def info(self) -> ServiceInfo:
        """Returns what every part must agree on."""
        return self._info

    async def settle_port(self, actor: str, proposed: int) -> int:
        """Returns the game port of an actor: the first proposal but 0 counts; 0 where there was none yet."""
        if proposed:
            self._ports.setdefault(actor, proposed)
        return self._ports.get(actor, 0)

    async def ports(self) -> dict[str, int]:
        """Returns the game port of each actor whose replicas listen."""
        return self._ports

    async def join(self, replica: Replica) -> None:
        """Adds a replica."""
        self._directory.join(replica)

    async def leave(self, name: str) -> None:
        """Removes a replica."""
        self._directory.leave(name)

    async def claim(self, game: str, name: str) -> Replica | None:
        """Makes a replica the owner of a game; returns the owner that was first, None where there was none."""
        return self._directory.claim(game, name)

    async def release(self, games: list[str], name: str) -> None:
        """Lets games go."""
        self._directory.release(games, name)

    async def owner(self, game: str) -> Replica | None:
        """Returns the owner of a game."""
        return self._directory.owner(game)


class DirectoryClient:
    """What a replica asks of the directory."""

    def __init__(self, handle: StoreHandle) -> None:
        self._handle = handle

    def info(self) -> ServiceInfo:
        """Returns what every part must agree on."""
        return cast("ServiceInfo", self._handle.get("info"))

    def ports(self) -> dict[str, int]:
        """Returns the game port of each actor whose replicas listen."""
        return cast("dict[str, int]", self._handle.get("ports"))

    async def settle_port(self, actor: str, proposed: int) -> int:
        """Returns the game port of an actor."""
        return int(await self._handle.call("settle_port", actor, proposed))

    async def join(self, replica: Replica) -> None:
        """Adds a replica."""
        await self._handle.call("join", replica)

    async def leave(self, name: str) -> None:
        """Removes a replica."""
        await self._handle.call("leave", name)

    async def claim(self, game: str, name: str) -> Replica | None:
        """Makes a replica the owner of a game; returns the owner that was first."""
        return cast("Replica | None", await self._handle.call("claim", game, name))

    async def release(self, games: list[str], name: str) -> None:
        """Lets games go."""
        await self._handle.call("release", games, name)

    async def owner(self, game: str) -> Replica | None:
        """Returns the owner of a game."""
        return cast("Replica | None", await self._handle.call("owner", game))
