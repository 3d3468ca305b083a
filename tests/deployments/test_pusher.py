import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest
from ray.exceptions import RayActorError

from app.agents.unroll import Row
from app.types import RowKind, Rows
from deployments import push_link as module
from deployments.pusher import Pusher, linked_shards
from tests.small_policy import discrete

if TYPE_CHECKING:
    from app.stores.buffer import Buffer

SPEC = discrete((2,), 2)


class FakeBuffer:
    """Notes what is pushed where, and answers as it is told."""

    def __init__(self) -> None:
        self.pushed: list[tuple[int, str, int, Rows]] = []
        self.answer: Callable[[int], bool] = lambda _: True

    async def push(self, sender: str, number: int, rows: Rows, shard: int) -> bool:
        taken = self.answer(shard)
        if taken:
            self.pushed.append((shard, sender, number, rows))
        return taken


def rows(episode: int, steps: int = 3) -> list[Row]:
    kinds = [RowKind.STEP] * steps + [RowKind.TERMINATED]
    return [
        Row(np.zeros(2, np.float32), 1, np.ones(2, np.uint8), None, 1.0, -0.7, 0.0, int(kind), 1.0, 1, 0, episode, tick)
        for tick, kind in enumerate(kinds)
    ]


def pusher(buffer: FakeBuffer, shards: list[int] | None = None, push_rows: int = 8) -> tuple[Pusher, Counter[str]]:
    counts: Counter[str] = Counter()
    return Pusher(cast("Buffer", buffer), SPEC, push_rows, 0.01, counts, shards), counts


@asynccontextmanager
async def running(one: Pusher) -> AsyncIterator[None]:
    task = asyncio.create_task(one.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task], timeout=10)


async def until(claim: Callable[[], Any]) -> None:
    async with asyncio.timeout(10):
        while not claim():  # noqa: ASYNC110  # What is waited for has no event of its own.
            await asyncio.sleep(0.001)


async def test_an_episode_goes_to_one_shard_and_episodes_to_all() -> None:
    buffer = FakeBuffer()
    one, counts = pusher(buffer, [4, 1, 2])
    for episode in (0, 1, 2, 3, 4, 5, 0, 1, 2):
        one.add(rows(episode))
    await one.flush()
    shards: dict[int, set[int]] = {}
    for shard, _, _, pushed in buffer.pushed:
        shards.setdefault(shard, set()).update(pushed["episode"].tolist())
    assert shards == {4: {0, 3}, 1: {1, 4}, 2: {2, 5}}
    assert counts["rows_pushed"] == 9 * 4
    assert one.links == 3


async def test_a_refused_push_is_kept_and_sent_again_under_its_number_before_any_other() -> None:
    buffer = FakeBuffer()
    buffer.answer = lambda _: False
    one, counts = pusher(buffer)
    async with running(one):
        one.add(rows(1))
        await until(lambda: counts["pushes_refused"] > 1)
        one.add(rows(2))
        buffer.answer = lambda _: True
        await until(lambda: len(buffer.pushed) == 2)
    assert [number for _, _, number, _ in buffer.pushed] == [1, 2]
    assert [set(pushed["episode"].tolist()) for _, _, _, pushed in buffer.pushed] == [{1}, {2}]
    assert (counts["rows_pushed"], counts["rows_dropped_unsent"]) == (8, 0)


async def test_a_full_shard_does_not_hold_up_the_others() -> None:
    buffer = FakeBuffer()
    buffer.answer = lambda shard: shard == 1
    one, _ = pusher(buffer, [0, 1])
    async with running(one):
        one.add(rows(0))
        one.add(rows(1))
        await until(lambda: buffer.pushed)
    assert [shard for shard, *_ in buffer.pushed] == [1]


async def test_what_waits_behind_a_refused_push_is_bounded_and_adding_never_waits() -> None:
    buffer = FakeBuffer()
    buffer.answer = lambda _: False
    one, counts = pusher(buffer, push_rows=4)
    one.add(rows(1))
    await one.flush()
    for episode in range(2, 40):
        one.add(rows(episode))
    await one.flush()
    assert counts["rows_dropped_unsent"] == (38 - module.WAITING_PUSHES_MAX) * 4
    buffer.answer = lambda _: True
    await one.flush()
    assert sum(len(pushed["kind"]) for *_, pushed in buffer.pushed) == (1 + module.WAITING_PUSHES_MAX) * 4


async def test_a_push_that_is_lost_is_sent_again_under_its_number() -> None:
    buffer, failures = FakeBuffer(), iter([True, False])

    def answer(_: int) -> bool:
        if next(failures):
            raise RayActorError
        return True

    buffer.answer = answer
    one, counts = pusher(buffer)
    one.add(rows(1))
    await one.flush()
    assert [number for _, _, number, _ in buffer.pushed] == [1]
    assert counts["rows_pushed"] == 4


@pytest.mark.parametrize(("replicas", "shards", "links"), [(4, 8, 2), (8, 4, 1), (3, 3, 3), (5, 5, 2)])
def test_replicas_in_a_row_cover_all_shards_evenly(replicas: int, shards: int, links: int) -> None:
    linked = [linked_shards(replica, shards, links) for replica in range(replicas)]
    assert all(len(set(found)) == links for found in linked)
    used = Counter(shard for found in linked for shard in found)
    assert set(used) == set(range(shards))
    assert max(used.values()) - min(used.values()) <= 1


def test_with_all_links_every_replica_sends_an_episode_to_the_same_shard() -> None:
    assert all(linked_shards(replica, 4, 4) == [0, 1, 2, 3] for replica in range(9))


async def test_a_flush_waits_for_the_push_that_is_under_way() -> None:
    buffer, go_on = FakeBuffer(), asyncio.Event()
    under_way = asyncio.Event()
    push = buffer.push

    async def slow(sender: str, number: int, rows: Rows, shard: int) -> bool:
        under_way.set()
        await go_on.wait()
        return await push(sender, number, rows, shard)

    buffer.push = slow  # type: ignore[method-assign]
    one, _ = pusher(buffer)
    async with running(one):
        one.add(rows(1))
        await asyncio.wait_for(under_way.wait(), 10)
        flushing = asyncio.create_task(one.flush())
        for _ in range(20):
            await asyncio.sleep(0)
        assert not flushing.done()
        go_on.set()
        await asyncio.wait_for(flushing, 10)
    assert len(buffer.pushed) == 1


async def test_a_push_whose_sender_is_stopped_is_sent_again_under_its_number() -> None:
    buffer, under_way = FakeBuffer(), asyncio.Event()
    push = buffer.push

    async def never(*_: object) -> bool:
        under_way.set()
        return await asyncio.Future()

    buffer.push = never  # type: ignore[method-assign]
    one, counts = pusher(buffer)
    async with running(one):
        one.add(rows(1))
        await asyncio.wait_for(under_way.wait(), 10)
    buffer.push = push  # type: ignore[method-assign]
    one.add(rows(2))
    await one.flush()
    assert [(number, set(pushed["episode"].tolist())) for _, _, number, pushed in buffer.pushed] == [(1, {1}), (2, {2})]
    assert counts["rows_pushed"] == 8
