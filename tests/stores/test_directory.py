"""A directory that does not know all games yet: no call takes effect whose caller has gone."""

import asyncio

import pytest

from app.errors import DirectoryIncompleteError
from app.sessions.directory import Replica
from app.stores import directory
from app.stores.directory import DirectoryStore, Found
from deployments.batched import PATIENCE_S

GIVER, TAKER = Replica("giver", "10.0.0.1", 1), Replica("taker", "10.0.0.2", 1)


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> DirectoryStore:
    monkeypatch.setattr(directory, "COMPLETE_S", 0.02)
    return DirectoryStore("home", "train", "secret")


async def test_a_call_that_cannot_be_answered_yet_says_so_and_changes_nothing_later(store: DirectoryStore) -> None:
    await store.join(GIVER, 0, [("g", 7)])
    await store.join(TAKER, 0, [])
    for call in (
        store.move("g", "giver", 7, "taker"),
        store.claim(["new"], "taker"),
        store.recover("g", "taker"),
        store.find(["g"]),
    ):
        with pytest.raises(DirectoryIncompleteError, match="waits for what replicas hold"):
            await call
    store._complete.set()
    held, new = await store.find(["g", "new"])
    assert (held.owner, new) == (GIVER, Found(None, None))


async def test_a_call_that_waited_for_a_moment_is_answered(store: DirectoryStore) -> None:
    await store.join(GIVER, 0, [("g", 7)])
    asking = asyncio.create_task(store.find(["g"]))
    await asyncio.sleep(0)
    store._complete.set()
    (found,) = await asking
    assert found.owner == GIVER


def test_callers_wait_longer_than_the_store() -> None:
    assert directory.COMPLETE_S < PATIENCE_S
