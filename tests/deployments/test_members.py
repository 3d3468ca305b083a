"""A replica's part in the directory, where that is on another machine."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest
from ray.exceptions import RayError

from app.errors import OverloadedError
from app.sessions.directory import LEASE_S, Replica
from app.sessions.table import SessionTable
from app.stores.directory import DirectoryClient, Membership
from deployments import members as members_module
from deployments.members import Members

HOST = "127.0.0.1"
HERE = Replica("here", "10.0.0.2", 1, actor="main")
THERE = Replica("there", "10.0.0.3", 1, actor="main")


class Games:
    """The games of a replica."""

    def __init__(self) -> None:
        self.playing = 0

    def all(self) -> list[Any]:
        return []


class Table:
    def __init__(self) -> None:
        self.games, self.draining = Games(), False


class Far:
    """A directory on another machine, which may be away."""

    def __init__(self, node: tuple[str, int]) -> None:
        self.node = node
        self.away = False
        self.known = True
        self.name = "first"
        self.replicas = (THERE,)
        self.told: list[list[Replica]] = []
        """Whom each join has named."""

    async def join(
        self, replica: Replica, port: int, held: list[tuple[str, int]], others: Sequence[Replica] = ()
    ) -> list[str]:
        self.told.append(list(others))
        self.known = True
        self.replicas = (replica, *others, *self.replicas)
        return []

    async def report(self, replica: Replica, games: int, draining: bool) -> Membership:
        if self.away:
            raise RayError("away")
        return Membership(self.name, self.replicas, {}, self.known, self.node)


@asynccontextmanager
async def member_of(own: Replica = HERE, host: str = "10.0.0.1") -> AsyncIterator[tuple[Members, Far, asyncio.Server]]:
    """Joins a directory on the node of ``host``; what listens there is on this machine."""
    node = await asyncio.start_server(lambda _, writer: writer.close(), HOST, 0)
    directory = Far((host, node.sockets[0].getsockname()[1]))
    members = Members(cast(DirectoryClient, directory), own, 0, cast(SessionTable, Table()))
    await members.join("")
    try:
        yield members, directory, node
    finally:
        node.close()


def later(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Moves the clock of leases on."""
    monkeypatch.setattr(members_module, "now_s", lambda: time.monotonic() + seconds)


async def test_reports_keep_the_games_of_a_replica_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    async with member_of() as (members, _, _):
        assert not members.lapsed()
        later(monkeypatch, LEASE_S + 0.1)
        assert members.lapsed()
        await members.renew()
        assert not members.lapsed()


async def test_on_the_directorys_own_node_they_are_without_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    async with member_of(host=HERE.host) as (members, _, _):
        later(monkeypatch, 1e6)
        assert not members.lapsed()


async def test_while_only_the_directorys_process_is_away_games_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    async with member_of(host=HOST) as (members, directory, _):
        directory.away = True
        monkeypatch.setattr(members_module, "REACH_TIMEOUT_S", 20.0)  # The node is this process, which may be busy.
        later(monkeypatch, LEASE_S + 0.1)
        await members.renew()
        assert not members.lapsed()


async def test_a_replica_that_is_cut_off_answers_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    async with member_of(host=HOST) as (members, directory, node):
        directory.away = True
        node.close()
        await node.wait_closed()
        later(monkeypatch, LEASE_S + 0.1)
        with pytest.raises(OverloadedError, match="cut off"):
            await members.renew()
        assert members.lapsed()


async def test_a_replica_that_was_taken_for_gone_joins_again() -> None:
    async with member_of() as (members, directory, _):
        directory.known = False
        await members.beat()
        assert len(directory.told) == 2


async def test_a_directory_that_began_anew_is_told_whom_the_one_before_knew() -> None:
    async with member_of() as (members, directory, _):
        assert directory.told == [[]]
        directory.name, directory.replicas = "second", ()
        await members.beat()
        assert {replica.name for replica in directory.told[1]} == {"here", "there"}


async def test_what_was_known_is_kept_until_a_directory_that_began_anew_was_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with member_of() as (members, directory, _):

        async def fails(*_: Any) -> list[str]:
            raise RayError("restarts")

        directory.name, directory.replicas = "second", ()
        with monkeypatch.context() as away:
            away.setattr(directory, "join", fails)
            await members.beat()
            await members.beat()
            assert set(members.replicas) == {"here", "there"}
        await members.beat()
        assert {replica.name for replica in directory.told[1]} == {"here", "there"}
