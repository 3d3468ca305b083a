"""The directory of games, and what every part of a trial must agree on, as a store."""

import asyncio
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, cast

import ray

from app.errors import DirectoryIncompleteError
from app.logs.tasks import told
from app.sessions.directory import Claim, Directory, Load, Replica
from app.stores.host import StoreHandle
from app.stores.rejoining import Rejoining

COMPLETE_S: Final = 1.0
"""Longest wait of a call for what is not known yet: whoever asked must still be there when the call takes effect."""


@dataclass(frozen=True, slots=True)
class ServiceInfo:
    """What a trial's service tells whoever joins it."""

    home: str
    """Absolute state root of the project."""
    mode: str
    cluster_secret: str
    """Shared by the replicas; only who knows it may forward steps."""


@dataclass(frozen=True, slots=True)
class Membership:
    """What a replica learns with each report."""

    directory: str
    """Name of this very directory; a restarted one has another, and is told anew what each replica holds."""
    replicas: tuple[Replica, ...]
    games: dict[str, int]
    """Games of each replica that takes new ones, of the asking replica's actor."""
    known: bool = True
    """Whether the asking replica is there; one that was taken for gone joins again."""
    node: tuple[str, int] = ("", 0)
    """Address and port of the directory's node, where something listens for as long as the node is reached."""


@dataclass(frozen=True, slots=True)
class Found:
    """What the directory knows of a game."""

    claim: Claim | None
    """None where nobody has claimed it."""
    owner: Replica | None
    """None where who claimed it is gone."""


class DirectoryStore:
    """One directory for all replicas of a trial."""

    def __init__(self, home: str, mode: str, cluster_secret: str) -> None:
        self._info = ServiceInfo(home, mode, cluster_secret)
        self._name = secrets.token_hex(8)
        self._directory = Directory(epoch=time.time_ns() // 1_000_000)
        self._ports: dict[str, int] = {}
        self._complete = asyncio.Event()
        self._rejoining = Rejoining(self._directory)
        self._hearing: asyncio.Task[None] | None = None
        self._node = ("", 0)

    async def start(self) -> None:
        """Waits for the replicas' reports where this process was restarted."""
        self._node = await asyncio.to_thread(own_node)
        if ray.get_runtime_context().was_current_actor_reconstructed:
            self._hearing = told(asyncio.get_running_loop().create_task(self._hear()))
        else:
            self._complete.set()

    async def info(self) -> ServiceInfo:
        """Returns what every part must agree on."""
        return self._info

    async def settle_port(self, actor: str, proposed: int) -> int:
        """Returns the game port of an actor: the first proposal but 0 counts; 0 where there was none yet."""
        if proposed:
            self._ports.setdefault(actor, proposed)
        return self._ports.get(actor, 0)

    async def fix_port(self, actor: str, port: int) -> None:
        """Takes the game port that an actor's config names, whatever it was before."""
        self._ports[actor] = port

    async def ports(self) -> dict[str, int]:
        """Returns the game port of each actor whose replicas listen."""
        return self._ports

    async def replicas(self) -> list[Replica]:
        """Returns the replicas that have joined."""
        return list(self._directory.replicas.values())

    async def join(
        self, replica: Replica, port: int, held: list[tuple[str, int]], others: Sequence[Replica] = ()
    ) -> list[str]:
        """Adds a replica with what it holds, and returns the games that another holds by now.

        Args:
          replica: Who joins.
          port: Its game port; 0 where it listens on none.
          held: Its games, and by which epochs.
          others: Whom it knew, of use to a directory that began anew.
        """
        if port:
            self._ports.setdefault(replica.actor, port)
        if not self._complete.is_set():
            self._rejoining.tell(others)
        return self._directory.join(replica, held, time.monotonic())

    async def report(self, name: str, actor: str, games: int, draining: bool) -> Membership:
        """Takes a replica's load and returns who else is there."""
        now_s = time.monotonic()
        self._directory.report(name, Load(now_s, games, draining))
        replicas = self._directory.replicas
        fresh = self._directory.fresh(actor, now_s)
        return Membership(self._name, tuple(replicas.values()), fresh, name in replicas, self._node)

    async def leave(self, name: str) -> None:
        """Removes a replica."""
        self._directory.leave(name)

    async def leave_if_silent(self, name: str) -> bool:
        """Removes a replica that has not reported for long; returns whether it is not there any more."""
        return self._directory.leave_if_silent(name, time.monotonic())

    async def claim(self, games: list[str], name: str) -> list[tuple[Found, bool]]:
        """Claims games for a replica; returns who holds each, and whether the game was another's that is gone."""
        await self._whole()
        answers: list[tuple[Found, bool]] = []
        for game in games:
            lost = game in self._directory.gone
            claim = self._directory.claim(game, name)
            answers.append((Found(claim, self._directory.replicas.get(claim.owner)), lost))
        return answers

    async def recover(self, game: str, name: str) -> Found:
        """Claims a game whose owner is gone."""
        await self._whole()
        self._directory.recover(game, name)
        return Found(*self._directory.find(game))

    async def give_up(self, game: str, name: str) -> None:
        """Marks a game as lost."""
        self._directory.give_up(game, name)

    async def move(self, game: str, name: str, epoch: int, to: str) -> Claim | None:
        """Hands a game on; None where the giver does not hold it."""
        await self._whole()
        return self._directory.move(game, name, epoch, to)

    async def release(self, games: list[tuple[str, int]], name: str) -> None:
        """Lets games go."""
        self._directory.release(games, name)

    async def find(self, games: list[str]) -> list[Found]:
        """Returns who holds each game."""
        await self._whole()
        return [Found(*self._directory.find(game)) for game in games]

    async def _whole(self) -> None:
        """Waits until all that is held is known, for less long than callers do."""
        try:
            async with asyncio.timeout(COMPLETE_S):
                await self._complete.wait()
        except TimeoutError as error:
            raise DirectoryIncompleteError("the directory began anew and waits for what replicas hold") from error

    async def _hear(self) -> None:
        try:
            await self._rejoining.heard()
        finally:
            self._complete.set()


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

    def replicas(self) -> list[Replica]:
        """Returns the replicas that have joined."""
        return cast("list[Replica]", self._handle.get("replicas"))

    async def settle_port(self, actor: str, proposed: int) -> int:
        """Returns the game port of an actor."""
        return int(await self._handle.call("settle_port", actor, proposed))

    async def fix_port(self, actor: str, port: int) -> None:
        """Tells the game port that an actor's config names."""
        await self._handle.call("fix_port", actor, port)

    async def join(
        self, replica: Replica, port: int, held: Sequence[tuple[str, int]], others: Sequence[Replica] = ()
    ) -> list[str]:
        """Adds a replica with what it holds and whom it knew, and returns the games that another holds by now."""
        return cast("list[str]", await self._handle.call("join", replica, port, list(held), list(others)))

    async def report(self, replica: Replica, games: int, draining: bool) -> Membership:
        """Tells a replica's load and returns who else is there."""
        return cast("Membership", await self._handle.call("report", replica.name, replica.actor, games, draining))

    async def leave(self, name: str) -> None:
        """Removes a replica."""
        await self._handle.call("leave", name)

    async def leave_if_silent(self, name: str) -> bool:
        """Removes a replica that has not reported for long; returns whether it is not there any more."""
        return bool(await self._handle.call("leave_if_silent", name))

    async def claim(self, games: list[str], name: str) -> list[tuple[Found, bool]]:
        """Claims games for a replica; returns who holds each, and whether the game was another's that is gone."""
        return cast("list[tuple[Found, bool]]", await self._handle.call("claim", games, name))

    async def recover(self, game: str, name: str) -> Found:
        """Claims a game whose owner is gone."""
        return cast("Found", await self._handle.call("recover", game, name))

    async def give_up(self, game: str, name: str) -> None:
        """Marks a game as lost that its new owner could not restore."""
        await self._handle.call("give_up", game, name)

    async def move(self, game: str, name: str, epoch: int, to: str) -> Claim | None:
        """Hands a game on; None where the giver does not hold it."""
        return cast("Claim | None", await self._handle.call("move", game, name, epoch, to))

    async def release(self, games: list[tuple[str, int]], name: str) -> None:
        """Lets games go."""
        await self._handle.call("release", games, name)

    async def find(self, games: list[str]) -> list[Found]:
        """Returns who holds each game."""
        return cast("list[Found]", await self._handle.call("find", games))


def own_node() -> tuple[str, int]:
    """Returns the address of this process's node, and a port on which Ray listens there."""
    node_id = ray.get_runtime_context().get_node_id()
    for node in ray.nodes():  # type: ignore[no-untyped-call]
        if node["NodeID"] == node_id:
            return str(node["NodeManagerAddress"]), int(node["NodeManagerPort"])
    return "", 0
