"""Workers that read parts of unequal length get equally many batches."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import SourceError
from app.sources.position import BEGIN, Place, Position
from app.stores.gate import GateStore


async def read(gate: GateStore, rank: int, batches: int, ranks: int, got: list[int], credits_batches: int = 1) -> None:
    """Reads as a worker's stream does, and learns at once from what it gets."""
    opened = await gate.open(rank, "group", ranks, credits_batches)
    for number in range(batches):
        if not await gate.admit(rank, "group", number):
            return
        got.append(opened.first_batch + number)
        await gate.release(rank, opened.first_batch + number)
    await gate.exhaust(rank, "group")


async def read_all(lengths: list[int]) -> list[list[int]]:
    gate, got = GateStore(), [list[int]() for _ in lengths]
    readers = (read(gate, rank, size, len(lengths), got[rank]) for rank, size in enumerate(lengths))
    async with asyncio.timeout(5):
        await asyncio.gather(*readers)
    return got


@given(st.lists(st.integers(0, 6), min_size=1, max_size=4))
def test_all_workers_get_as_many_batches_as_the_shortest_part_has(lengths: list[int]) -> None:
    got = asyncio.run(read_all(lengths))
    assert got == [list(range(min(lengths)))] * len(lengths)


async def test_nobody_gets_a_batch_before_all_have_one() -> None:
    gate = GateStore()
    await gate.open(0, "a", 2, 2)
    first = asyncio.create_task(gate.admit(0, "a", 0))
    await asyncio.sleep(0)
    await gate.open(1, "a", 2, 2)
    await asyncio.sleep(0)
    assert not first.done()
    assert await gate.admit(1, "a", 0)
    assert await first


async def test_no_more_batches_are_under_way_than_there_are_credits() -> None:
    gate = GateStore()
    await gate.open(0, "a", 1, 2)
    assert await gate.admit(0, "a", 0)
    assert await gate.admit(0, "a", 1)
    assert (await gate.stats()).under_way == 2
    third = asyncio.create_task(gate.admit(0, "a", 2))
    await asyncio.sleep(0)
    assert not third.done()
    assert await gate.release(0, 0)
    assert await third
    assert not await gate.release(0, 0)


async def test_a_close_lets_the_others_have_what_one_had() -> None:
    gate = GateStore()
    for rank in (0, 1):
        await gate.open(rank, "a", 2, 1)
    late = asyncio.create_task(gate.admit(1, "a", 0))
    assert await gate.admit(0, "a", 0)
    await gate.close()
    assert await late
    assert not await gate.admit(1, "a", 1)
    assert not await gate.admit(0, "a", 1)


async def test_a_new_group_ends_the_old_one_and_begins_where_its_workers_say() -> None:
    gate = GateStore()
    opened = await gate.open(0, "old", 1, 1)
    assert opened == (BEGIN, 0)
    assert await gate.admit(0, "old", 0)
    waiting = asyncio.create_task(gate.admit(0, "old", 1))
    await asyncio.sleep(0)
    await gate.begin(0, Place(Position(1, 2, 3, 4)))
    opened = await gate.open(0, "new", 1, 1)
    assert opened == (Place(Position(1, 2, 3, 4)), 1)  # No id comes again.
    assert not await waiting
    assert await gate.admit(0, "new", 0)
    assert not await gate.release(0, 0)
    await gate.finish(0)  # Of the old group: the new one goes on.
    assert await gate.release(0, 1)
    assert await gate.admit(0, "new", 1)
    await gate.finish(2)
    assert not await gate.admit(0, "new", 2)


async def test_a_gate_that_has_restarted_says_so() -> None:
    with pytest.raises(SourceError, match="has restarted"):
        await GateStore().admit(0, "a", 3)


async def test_who_waits_long_is_told_to_ask_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.stores.gate.WAIT_S", 0.01)
    gate = GateStore()
    await gate.open(0, "a", 2, 1)
    assert await gate.admit(0, "a", 0) is None
