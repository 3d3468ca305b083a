"""A directory that began anew waits for those that anyone knew; the clock and the sockets are real, the waits short."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from app.sessions.directory import Directory, Replica
from app.stores import rejoining
from app.stores.rejoining import Rejoining
from deployments.port import free_port

HOST = "127.0.0.1"
SHORT_S = 0.2
"""What is to go on is looked at for so long."""
LONG_S = 20.0
"""Nothing that is to end takes as long, on any machine."""


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rejoining, "REJOIN_S", 0.01)
    monkeypatch.setattr(rejoining, "LOOK_S", 0.01)


@asynccontextmanager
async def listening(name: str) -> AsyncIterator[Replica]:
    """A replica whose process lives."""
    server = await asyncio.start_server(lambda _, writer: writer.close(), HOST, 0)
    try:
        yield Replica(name, HOST, server.sockets[0].getsockname()[1], actor="main")
    finally:
        server.close()


def dead(name: str) -> Replica:
    """A replica whose process is gone."""
    return Replica(name, HOST, free_port(HOST), actor="main")


async def ends(rejoining: Rejoining, within_s: float = LONG_S) -> bool:
    """Returns whether the wait is over by then."""
    try:
        await asyncio.wait_for(rejoining.heard(), within_s)
    except TimeoutError:
        return False
    return True


async def test_a_replica_that_another_knew_and_that_lives_is_waited_for_until_it_tells_what_it_holds() -> None:
    async with listening("slow") as slow, listening("here") as here:
        directory = Directory(epoch=0)
        wait = Rejoining(directory)
        directory.join(here, [], 0.0)
        wait.tell([here, slow])
        assert directory.replicas == {"here": here, "slow": slow}
        assert not await ends(wait, SHORT_S)
        directory.join(slow, [("game", 7)], 0.0)
        assert await ends(wait)
        assert directory.find("game")[1] == slow


async def test_a_replica_that_died_meanwhile_is_not_waited_for() -> None:
    async with listening("here") as here:
        directory = Directory(epoch=0)
        wait = Rejoining(directory)
        directory.join(here, [], 0.0)
        wait.tell([here, dead("gone")])
        assert await ends(wait)
        assert directory.replicas == {"here": here}


async def test_those_who_are_new_say_nothing_of_others_and_are_not_enough() -> None:
    async with listening("new") as new, listening("here") as here:
        directory = Directory(epoch=0)
        wait = Rejoining(directory)
        directory.join(new, [], 0.0)
        wait.tell([])
        assert not await ends(wait, SHORT_S)
        directory.join(here, [], 0.0)
        wait.tell([here])
        assert await ends(wait)


async def test_where_nobody_comes_back_who_was_there_it_ends_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rejoining, "SILENT_S", 0.02)
    assert await ends(Rejoining(Directory(epoch=0)))


async def test_a_replica_that_lives_and_tells_nothing_is_waited_for_so_long_and_told_of(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(rejoining, "AWAITED_S", 0.05)
    async with listening("stuck") as stuck:
        directory = Directory(epoch=0)
        wait = Rejoining(directory)
        wait.tell([stuck])
        assert await ends(wait)
        assert not directory.replicas
        assert "stuck" in caplog.text
