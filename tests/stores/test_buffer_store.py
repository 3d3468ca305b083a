import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
from ray.exceptions import RayActorError

from app.config.tables import TableConfig
from app.errors import CheckpointError
from app.replay.supply import SupplyStats
from app.stores import dealer as module
from app.stores.buffer_settings import BufferSettings
from app.stores.buffer_store import BufferStore
from app.stores.dealer import Ticket
from app.stores.shard import ShardStore
from app.stores.table_keeper import Restored
from app.types import RowKind, Rows

from .trajectories import SPEC, trajectory

if TYPE_CHECKING:
    from app.stores.host import StoreHandle

FOREVER_S = 1000.0


def store(
    batch_rows: int = 4, workers: int = 1, credits_batches: int = 10, heartbeat_s: float = FOREVER_S, spare: int = 100
) -> BufferStore:
    capacity = batch_rows * workers + spare
    return BufferStore(SPEC, BufferSettings(batch_rows, workers, capacity, credits_batches, heartbeat_s))


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def ids(rows: Rows | list[Ticket] | None) -> set[int]:
    assert isinstance(rows, dict)
    return {int(number) for number in rows["batch"]}


def steps(rows: Rows | list[Ticket] | None) -> list[int]:
    assert isinstance(rows, dict)
    return [int(tick) for tick, weight in zip(rows["tick"], rows["weight"], strict=True) if weight]


async def stats_of(buffer: BufferStore) -> SupplyStats:
    return (await buffer.shard_stats()).supply


async def started(buffer: BufferStore) -> None:
    if not buffer._working:
        await buffer.start()


async def opened(buffer: BufferStore, group: str = "g") -> None:
    """Joins all workers and takes the first, empty round."""
    workers = buffer._settings.workers
    await started(buffer)
    for rank in range(workers):
        await buffer.open(rank, group)
    for rank in range(workers):
        rows = await buffer.take(rank, group)
        assert isinstance(rows, dict)
        await buffer.release(rank, min(ids(rows)))


@asynccontextmanager
async def taking(
    buffer: BufferStore, rank: int = 0, group: str = "g"
) -> AsyncIterator["asyncio.Task[Rows | list[Ticket] | None]"]:
    """Runs a take that nothing has answered yet."""
    task = asyncio.create_task(buffer.take(rank, group))
    for _ in range(20):
        await asyncio.sleep(0)
    assert not task.done()
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait([task])


async def test_the_first_batch_is_empty_and_shows_that_the_stream_is_up() -> None:
    buffer = store()
    await buffer.push("a", 1, trajectory(7))
    await started(buffer)
    await buffer.open(0, "g")
    rows = await buffer.take(0, "g")
    assert isinstance(rows, dict)
    assert ids(rows) == {0}
    assert steps(rows) == []
    assert len(rows["kind"]) == 4
    assert (await stats_of(buffer)).popped == 0


async def test_a_batch_has_exactly_its_rows_and_one_number() -> None:
    buffer = store(batch_rows=4)
    await opened(buffer)
    await buffer.push("a", 1, trajectory(7))
    first, second = await buffer.take(0, "g"), await buffer.take(0, "g")
    assert (steps(first), steps(second)) == ([0, 1, 2], [3, 4, 5])
    assert (ids(first), ids(second)) == ({1}, {2})
    assert isinstance(first, dict)
    assert first["kind"].tolist() == [RowKind.STEP] * 3 + [RowKind.FULL]
    assert await buffer.under_way() == 2


async def test_a_take_waits_for_a_whole_batch() -> None:
    buffer = store(batch_rows=4)
    await opened(buffer)
    await buffer.push("a", 1, trajectory(2))
    async with taking(buffer) as take:
        await buffer.push("a", 2, trajectory(2, 10))
        assert steps(await take) == [0, 1]


async def test_no_worker_gets_a_batch_before_there_is_one_for_each() -> None:
    buffer = store(batch_rows=4, workers=2)
    await opened(buffer)
    async with taking(buffer, 0) as first, taking(buffer, 1) as second:
        await buffer.push("a", 1, trajectory(4))
        await asyncio.sleep(0)
        assert not first.done()
        assert not second.done()
        await buffer.push("a", 2, trajectory(4, 10))
        got = await first, await second
    assert ids(got[0]) == ids(got[1]) == {1}
    assert sorted(steps(got[0]) + steps(got[1])) == [0, 1, 2, 3, 10]  # Row 3 was given back and opens the second.


async def test_no_worker_gets_a_batch_before_all_have_joined() -> None:
    buffer = store(batch_rows=4, workers=2)
    await started(buffer)
    await buffer.push("a", 1, trajectory(20))
    await buffer.open(0, "g")
    async with taking(buffer, 0) as first:
        await buffer.open(1, "g")
        assert ids(await first) == {0}
    assert ids(await buffer.take(1, "g")) == {0}


async def test_a_worker_without_a_credit_waits_for_its_release() -> None:
    buffer = store(batch_rows=4, credits_batches=1)
    await opened(buffer)
    await buffer.push("a", 1, trajectory(20))
    (number,) = ids(await buffer.take(0, "g"))
    async with taking(buffer) as take:
        assert not await buffer.release(0, number + 7)
        await asyncio.sleep(0)
        assert not take.done()
        assert await buffer.release(0, number)
        assert ids(await take) == {number + 1}
    assert not await buffer.release(0, number)


async def test_rows_leave_the_buffer_only_against_a_credit() -> None:
    buffer = store(batch_rows=4, credits_batches=1)
    await opened(buffer)
    await buffer.push("a", 1, trajectory(20))
    await buffer.take(0, "g")
    async with taking(buffer):
        assert (await stats_of(buffer)).popped == 3


async def test_a_quiet_night_brings_every_worker_an_empty_batch() -> None:
    buffer = store(batch_rows=4, workers=2, heartbeat_s=0.02)
    await opened(buffer)
    await buffer.push("a", 1, trajectory(4))  # Enough for one worker and so for none.
    first, second = await asyncio.gather(buffer.take(0, "g"), buffer.take(1, "g"))
    assert steps(first) == steps(second) == []
    assert ids(first) == ids(second)
    assert (await stats_of(buffer)).held < 4  # What was drawn for the one waits for the other.
    await buffer.release(0, min(ids(first)))


async def test_a_take_that_nothing_answers_ends_so_that_the_worker_asks_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TAKE_WAIT_S", 0.02)
    buffer = store()
    await opened(buffer)
    assert await buffer.take(0, "g") == {}
    await buffer.push("a", 1, trajectory(7))
    assert steps(await buffer.take(0, "g")) == [0, 1, 2]


async def test_a_repeated_push_is_taken_once() -> None:
    buffer = store()
    for sender, number in (("a", 1), ("a", 1), ("b", 1), ("a", 2), ("a", 1)):
        await buffer.push(sender, number, trajectory(1))
    stats = await buffer.shard_stats()
    assert (stats.supply.inserted, stats.repeated_pushes) == (6, 2)


async def test_a_trajectory_that_a_restored_game_sends_again_is_taken_once() -> None:
    buffer = store()
    for number, (first, steps) in enumerate([(0, 2), (0, 1), (2, 2)]):
        await buffer.push("a", number, trajectory(steps, first, episode=-1))
    stats = await buffer.shard_stats()
    assert (stats.supply.inserted, stats.repeated_rows) == (6, 2)


async def test_a_push_that_was_refused_may_be_repeated() -> None:
    buffer = store()
    rows = trajectory(2)
    with pytest.raises(ValueError, match="the last row is a step"):
        await buffer.push("a", 1, {name: column[:2] for name, column in rows.items()})
    await buffer.push("a", 1, rows)
    assert (await stats_of(buffer)).inserted == 3


async def test_every_row_is_accounted_for() -> None:
    buffer = store(batch_rows=4, spare=6)
    await opened(buffer)
    for number in range(20):
        await buffer.push("a", number, trajectory(2))
        if number % 5 == 4:
            await buffer.take(0, "g")
    stats = await stats_of(buffer)
    assert stats.dropped > 0
    assert stats.inserted == 60 == stats.popped + stats.dropped + stats.held


async def test_a_new_group_ends_the_streams_and_the_credits_of_the_old() -> None:
    buffer = store(batch_rows=4, credits_batches=1)
    await opened(buffer, "old")
    await buffer.push("a", 1, trajectory(20))
    (number,) = ids(await buffer.take(0, "old"))
    async with taking(buffer, group="old") as take:
        await buffer.open(0, "new")
        assert await take is None
    assert await buffer.take(0, "old") is None
    assert steps(await buffer.take(0, "new")) == []  # The first batch of a stream is empty.
    assert not await buffer.release(0, number)
    assert await buffer.under_way() == 1


async def test_what_waited_for_a_worker_of_the_old_group_is_not_dealt_to_the_new() -> None:
    buffer = store(batch_rows=4, workers=2)
    await opened(buffer, "old")
    await buffer.push("a", 1, trajectory(20))
    await buffer.take(0, "old")  # The other half of this round is never taken.
    await opened(buffer, "new")
    first, second = await buffer.take(0, "new"), await buffer.take(1, "new")
    assert ids(first) == ids(second)


async def test_closing_ends_the_streams_behind_what_was_dealt() -> None:
    buffer = store(batch_rows=4, workers=2)
    await opened(buffer)
    await buffer.push("a", 1, trajectory(20))
    assert steps(await buffer.take(0, "g")) != []
    await buffer.close()  # What was dealt to the other worker lies ready.
    assert steps(await buffer.take(1, "g")) != []
    assert await buffer.take(0, "g") is None
    assert await buffer.take(1, "g") is None


async def test_closing_wakes_a_worker_that_waits() -> None:
    buffer = store()
    await opened(buffer)
    async with taking(buffer) as take:
        await buffer.close()
        assert await take is None


async def test_the_end_of_an_older_group_does_not_end_the_new_one() -> None:
    buffer = store(batch_rows=4)
    await opened(buffer, "old")
    await buffer.push("a", 1, trajectory(20))
    (old,) = ids(await buffer.take(0, "old"))
    await opened(buffer, "new")
    await buffer.finish(old)
    rows = await buffer.take(0, "new")
    assert steps(rows) != []
    await buffer.finish(min(ids(rows)))
    assert await buffer.take(0, "new") is None


async def test_a_closed_buffer_serves_the_next_group() -> None:
    buffer = store()
    await opened(buffer, "old")
    await buffer.close()
    await opened(buffer, "new")
    await buffer.push("a", 1, trajectory(7))
    assert steps(await buffer.take(0, "new")) == [0, 1, 2]


async def test_workers_that_go_at_their_own_pace_see_the_same_rounds() -> None:
    buffer, numbers = store(batch_rows=4, workers=2, credits_batches=2), count()
    await opened(buffer)
    seen: list[list[set[int]]] = [[], []]

    async def work(rank: int) -> None:
        while len(seen[rank]) < 10:
            rows = await buffer.take(rank, "g")
            seen[rank].append(ids(rows))
            for _ in range(3 * rank):
                await asyncio.sleep(0)
            await buffer.release(rank, min(ids(rows)))

    async def play() -> None:
        for number in range(40):
            await buffer.push("a", number, trajectory(3, next(numbers)))
            await asyncio.sleep(0)

    await asyncio.wait_for(asyncio.gather(work(0), work(1), play()), 20)
    assert seen[0] == seen[1]


async def test_a_smaller_group_gets_rounds_of_its_own_size_and_a_larger_one_after_it() -> None:
    buffer = store(batch_rows=4, workers=2)
    await opened(buffer, "two")
    await buffer.open(0, "one", 1)
    first = await buffer.take(0, "one")
    assert steps(first) == []  # The empty one: nobody waits for a second worker.
    await buffer.push("actor", 0, trajectory(3))
    assert steps(await buffer.take(0, "one")) == [0, 1, 2]
    assert await buffer.take(1, "two") is None
    await opened(buffer, "two again")
    for number in (1, 2):
        await buffer.push("actor", number, trajectory(3))
    assert [steps(await buffer.take(rank, "two again")) for rank in range(2)] == [[0, 1, 2]] * 2


async def test_what_was_drawn_for_a_larger_group_is_not_lost_to_a_smaller_one() -> None:
    buffer = store(batch_rows=4, workers=3)
    await opened(buffer, "three")
    async with taking(buffer, 0, "three"):
        for number in range(2):
            await buffer.push("actor", number, trajectory(3, first_tick=10 * number))
        for _ in range(20):
            await asyncio.sleep(0)
    await buffer.open(0, "one", 1)
    await buffer.take(0, "one")
    assert [steps(await buffer.take(0, "one")) for _ in range(2)] == [[0, 1, 2], [10, 11, 12]]


class OtherProcess:
    """Calls a shard as one of another process is called."""

    def __init__(self, shard: ShardStore) -> None:
        self._shard = shard

    def call(self, method: str, *args: Any) -> Any:
        return getattr(self._shard, method)(*args)


class GoneProcess:
    """Answers no call."""

    async def call(self, method: str, *args: Any) -> Any:
        raise RayActorError


async def test_the_tables_are_not_there_where_a_shard_has_gone(tmp_path: Path) -> None:
    settings = BufferSettings(4, 1, 8, 2, FOREVER_S, shards=2, table=TableConfig(capacity_items=100))
    first = BufferStore(SPEC, settings, [cast("StoreHandle", GoneProcess())])
    with pytest.raises(CheckpointError, match=r"a buffer's shard has not written .*1\.npz"):
        await first.save_tables(tmp_path / "000001-0000000004")
    assert names(tmp_path) == []


async def test_all_shards_write_their_tables_into_one_folder(tmp_path: Path) -> None:
    settings = BufferSettings(4, 1, 8, 2, FOREVER_S, shards=2, table=TableConfig(capacity_items=100))
    other = ShardStore(SPEC, settings, 1)
    first = BufferStore(SPEC, settings, [cast("StoreHandle", OtherProcess(other))])
    await first.push("a", 1, trajectory(9))
    await other.push("a", 1, trajectory(6))
    await first.save_tables(tmp_path / "000001-0000000004")
    for shard, items in ((0, 9), (1, 6)):
        restored = await ShardStore(SPEC, settings, shard).restore_table(
            tmp_path / "000001-0000000004" / f"{shard}.npz"
        )
        assert restored == Restored(items)
