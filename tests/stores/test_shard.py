import asyncio
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.config.tables import (
    PrioritizedSampling,
    QueueLimit,
    SamplesPerInsertLimit,
    SequenceItem,
    TableConfig,
    TransitionItem,
)
from app.errors import CheckpointError
from app.replay.supply import WhenFull, joined
from app.stores import shard as module
from app.stores.buffer_settings import BufferSettings, batch_layout
from app.stores.shard import ShardStore
from app.stores.table_keeper import Restored
from app.types import Rows, Version

from .trajectories import SPEC, trajectory


def settings(**changes: Any) -> BufferSettings:
    return BufferSettings(
        **{"batch_rows": 4, "workers": 1, "capacity_rows": 8, "credits_batches": 2, "heartbeat_s": 9.0} | changes
    )


def table(**changes: Any) -> TableConfig:
    return TableConfig(**{"capacity_items": 100} | changes)


async def drawn(shard: ShardStore, number: int = 1) -> Rows:
    assert await shard.draw(number)
    (parts,) = await shard.fetch([number])
    assert parts is not None
    return joined(parts)


@pytest.mark.parametrize(
    ("when_full", "taken", "held", "dropped"),
    [(WhenFull.DROP_OLDEST, True, 8, 4), (WhenFull.DROP_NEWEST, True, 8, 4), (WhenFull.REFUSE, False, 8, 0)],
)
async def test_a_full_shard_does_with_a_push_what_it_is_told(
    when_full: WhenFull, taken: bool, held: int, dropped: int
) -> None:
    shard = ShardStore(SPEC, settings(when_full=when_full))
    for number in (1, 2):
        assert await shard.push("a", number, trajectory(3))
    assert await shard.push("a", 3, trajectory(3)) is taken
    stats = await shard.shard_stats()
    assert (stats.supply.held, stats.supply.dropped, stats.refused_pushes) == (held, dropped, int(not taken))


async def test_a_push_that_was_refused_is_taken_later_and_once() -> None:
    shard = ShardStore(SPEC, settings(when_full=WhenFull.REFUSE))
    rows = trajectory(3)
    for number in (1, 2):
        await shard.push("a", number, trajectory(3))
    assert not await shard.push("a", 3, rows)
    await drawn(shard)
    assert await shard.push("a", 3, rows)
    assert await shard.push("a", 3, rows)
    stats = await shard.shard_stats()
    assert (stats.supply.inserted, stats.repeated_pushes, stats.refused_rows) == (12, 1, 4)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"note": np.zeros(4, np.int8)}, "rows have the columns .*note.*; allowed are "),
        ({"reward": np.zeros(4, np.float64)}, "column 'reward' has rows of float64 .*, allowed are float32"),
    ],
)
async def test_rows_of_another_layout_are_refused_and_lose_no_others(change: Rows, says: str) -> None:
    shard = ShardStore(SPEC, settings())
    await shard.push("a", 1, trajectory(3))
    with pytest.raises(ValueError, match=says):
        await shard.push("a", 2, trajectory(3) | change)
    assert await shard.push("a", 2, trajectory(3))
    assert (await shard.shard_stats()).supply.held == 8


async def test_memory_stays_flat_while_producers_are_ten_times_as_fast_as_the_learner() -> None:
    shard = ShardStore(SPEC, settings(batch_rows=64, capacity_rows=256))
    number = 0

    async def play(batches: int) -> None:
        nonlocal number
        for batch in range(batches):
            for _ in range(10):
                number += 1
                await shard.push("a", number, trajectory(63))
            await drawn(shard, batch)
            await shard.drop([batch])

    await play(20)
    tracemalloc.start()
    await play(20)
    before, _ = tracemalloc.get_traced_memory()
    await play(100)
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    stats = (await shard.shard_stats()).supply
    assert after - before < 2**20  # 6 MiB of rows have come and gone.
    assert stats.held <= 256
    assert stats.dropped > 0.8 * stats.inserted
    assert stats.inserted == stats.popped + stats.dropped + stats.held


async def test_a_drawn_batch_stays_in_its_pieces_until_it_is_dropped() -> None:
    shard = ShardStore(SPEC, settings(ticket_bytes=1))
    for number in range(2):
        await shard.push("a", number, trajectory(1))
    assert await shard.draw(7)
    parts, gone = await shard.fetch([7, 8])
    assert gone is None
    assert parts is not None
    assert [len(part["kind"]) for part in parts] == [2, 2]
    await shard.drop([7, 9])
    assert await shard.fetch([7]) == [None]


async def test_the_number_of_batches_is_told_when_it_changes_or_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REPORT_S", 0.02)
    shard = ShardStore(SPEC, settings())
    assert await shard.ready(0) == 0
    asked = asyncio.create_task(shard.ready(0))
    await asyncio.sleep(0)
    await shard.push("a", 1, trajectory(3))
    assert await asked == 1


async def test_transitions_are_sampled_with_their_keys_and_priorities_change_their_chance() -> None:
    sampler = PrioritizedSampling(exponent=1.0, epsilon=1e-6, beta=1.0)
    shard = ShardStore(SPEC, settings(table=table(sampler=sampler, item=TransitionItem(steps=2, gamma=0.5))), shard=2)
    await shard.push("a", 1, trajectory(4))
    rows = await drawn(shard)
    assert rows.keys() == batch_layout(SPEC, settings(table=table())).columns.keys()
    assert set(rows["reward"].tolist()) == {1.5, 1.0}
    assert set(rows["key_shard"].tolist()) == {2}
    slots, numbers = rows["key_slot"].astype(np.int64), rows["key_number"].astype(np.int64)
    only = numbers == numbers[0]
    assert await shard.update_priorities(slots, numbers, np.where(only, 1.0, 0.0)) == 0
    rows = await drawn(shard, 2)
    assert set(rows["key_number"].tolist()) == {int(numbers[0])}
    assert rows["probability"].min() > 0.99


async def test_priorities_of_items_that_left_are_counted() -> None:
    shard = ShardStore(SPEC, settings(table=table(capacity_items=4, sampler=PrioritizedSampling())))
    await shard.push("a", 1, trajectory(4))
    rows = await drawn(shard)
    await shard.push("a", 2, trajectory(4))
    ignored = await shard.update_priorities(
        rows["key_slot"].astype(np.int64), rows["key_number"].astype(np.int64), np.ones(4)
    )
    assert ignored == (await shard.shard_stats()).ignored_priorities == 4


async def test_items_that_a_new_version_makes_too_old_leave() -> None:
    shard = ShardStore(SPEC, settings(table=table(max_age_versions=1)))
    for version in range(3):
        await shard.push("a", version, trajectory(2, number=version))
    assert await shard.advance(Version(1, 2)) == 2
    assert (await shard.shard_stats()).supply.held == 4


async def test_sequences_come_whole() -> None:
    item = SequenceItem(rows=3, overlap_rows=1, burn_in_at_start=False)
    shard = ShardStore(SPEC, settings(table=table(item=item)))
    await shard.push("a", 1, trajectory(6))
    rows = await drawn(shard)
    assert rows["tick"].shape == (4, 3)
    assert rows["observation"].shape == (4, 3, 2)


async def test_a_producer_waits_for_the_learner_at_a_ratio_of_samples_per_insert() -> None:
    limiter = SamplesPerInsertLimit(samples_per_insert=1, min_size_items=4, error_buffer_items=6)
    shard = ShardStore(SPEC, settings(table=table(limiter=limiter), when_full=WhenFull.REFUSE))
    pushed = refused = 0
    for number in range(40):
        if await shard.push("a", number, trajectory(3)):
            pushed += 3
        else:
            refused += 1
            await drawn(shard, number)
    stats = (await shard.shard_stats()).supply
    assert refused > 5
    assert stats.table is not None
    assert 0.8 <= stats.table.samples_per_insert <= 1.2
    assert stats.inserted == pushed == stats.table.inserted + stats.waiting


async def test_a_queue_hands_out_each_item_once() -> None:
    queue = table(capacity_items=8, limiter=QueueLimit(), max_reuse=1, sampler={"kind": "fifo"})
    shard = ShardStore(SPEC, settings(table=queue, when_full=WhenFull.REFUSE))
    await shard.push("a", 1, trajectory(8))
    ticks = [*(await drawn(shard, 1))["tick"].tolist(), *(await drawn(shard, 2))["tick"].tolist()]
    assert ticks == list(range(8))
    assert not await shard.draw(3)


async def test_a_restored_shard_goes_on_where_the_other_one_stood(tmp_path: Path) -> None:
    first, second = (ShardStore(SPEC, settings(table=table(sampler=PrioritizedSampling()))) for _ in range(2))
    await first.push("a", 1, trajectory(20))
    await drawn(first)
    await first.write_table(tmp_path / "0.npz")
    assert await second.restore_table(tmp_path / "0.npz") == Restored(20)
    assert (await second.shard_stats()).supply == (await first.shard_stats()).supply
    np.testing.assert_equal(await drawn(second), await drawn(first))


async def test_restored_rows_wake_whoever_asks_for_batches(tmp_path: Path) -> None:
    first, second = (ShardStore(SPEC, settings(table=table())) for _ in range(2))
    await first.push("a", 1, trajectory(20))
    await first.write_table(tmp_path / "0.npz")
    asked = asyncio.create_task(second.ready(0))
    await asyncio.sleep(0)
    await second.restore_table(tmp_path / "0.npz")
    assert await asked == 1


async def test_a_queue_saves_no_table(tmp_path: Path) -> None:
    shard = ShardStore(SPEC, settings())
    with pytest.raises(CheckpointError, match="the buffer has no table"):
        await shard.write_table(tmp_path / "0.npz")
    assert (await shard.restore_table(tmp_path / "0.npz")).refused == "the buffer has no table"
