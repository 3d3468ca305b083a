import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.stores import dealer as module
from app.stores.dealer import EMPTY, Dealer, NoBatch, Ticket
from app.stores.signal import Signal

FOREVER_S = 1000.0


@dataclass
class FakeShard:
    """Has batches, and may be gone."""

    changed: Signal
    batches: int = 0
    gone: bool = False
    kept: set[int] = field(default_factory=set)
    quick: int = 1_000_000
    """Draws that it makes at once; those behind them wait for ``slow``."""
    slow: asyncio.Event = field(default_factory=asyncio.Event)

    async def draw(self, number: int) -> bool:
        await asyncio.sleep(0)
        self.quick -= 1
        if self.quick < 0:
            await self.slow.wait()
        if self.gone or not self.batches:
            self.batches = 0
            return False
        self.batches -= 1
        self.kept.add(number)
        return True

    async def drop(self, numbers: list[int]) -> None:
        self.kept -= set(numbers)

    def fill(self, batches: int) -> None:
        self.batches += batches
        self.changed.set()


@dataclass
class Deal:
    """A dealer under test, with its shards."""

    dealer: Dealer
    shards: list[FakeShard]

    async def open(self, group: str = "g", workers: int = 2) -> None:
        """Joins all workers and passes the first, empty round."""
        for rank in range(workers):
            await self.dealer.open(rank, group)
        for rank in range(workers):
            (ticket,) = await self.take(rank, group)
            assert ticket.shard == EMPTY
            await self.dealer.release(rank, ticket.batch)

    async def take(self, rank: int, group: str = "g") -> list[Ticket]:
        async with asyncio.timeout(10):  # wait_for of Python 3.11 may swallow a cancellation.
            taken = await self.dealer.take(rank, group)
        assert isinstance(taken, list)
        return taken

    async def round(self, workers: int = 2) -> list[Ticket]:
        """Returns what each worker gets next."""
        taken = await asyncio.gather(*(self.take(rank) for rank in range(workers)))
        return [ticket for tickets in taken for ticket in tickets]


@asynccontextmanager
async def dealing(
    shards: int = 2,
    workers: int = 2,
    credits_batches: int = 2,
    heartbeat_s: float = FOREVER_S,
    *,
    together: bool = False,
) -> AsyncIterator[Deal]:
    changed = Signal()
    links = [FakeShard(changed) for _ in range(shards)]
    dealer = Dealer(links, workers, credits_batches, heartbeat_s, changed, together=together)
    running = asyncio.create_task(dealer.run())
    try:
        yield Deal(dealer, links)
        assert not running.done()
    finally:
        running.cancel()
        await asyncio.wait([running])


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_a_round_is_made_of_batches_of_any_shards() -> None:
    async with dealing() as deal:
        await deal.open()
        for shard in deal.shards:
            shard.fill(1)
        first, second = await deal.round()
        assert (first.batch, second.batch) == (1, 1)
        assert [first.shard, second.shard] == [0, 1]  # Each worker gets that of the shard beside it.
        deal.shards[1].fill(2)
        assert [ticket.shard for ticket in await deal.round()] == [1, 1]


async def test_no_worker_gets_a_batch_before_there_is_one_for_each() -> None:
    async with dealing() as deal:
        await deal.open()
        takes = [asyncio.create_task(deal.take(rank)) for rank in (0, 1)]
        deal.shards[0].fill(1)
        await settle()
        assert not any(take.done() for take in takes)
        deal.shards[1].fill(1)
        assert {tickets[0].batch for tickets in await asyncio.gather(*takes)} == {1}


async def test_rounds_go_on_as_long_as_one_shard_gets_rows() -> None:
    async with dealing(shards=3) as deal:
        await deal.open()
        for number in range(1, 6):
            deal.shards[2].fill(1)
            takes = [asyncio.create_task(deal.take(rank)) for rank in (0, 1)]
            await settle()
            deal.shards[2].fill(1)  # It holds one batch at a time, and there are two workers.
            for rank, (ticket,) in enumerate(await asyncio.gather(*takes)):
                assert (ticket.batch, ticket.shard) == (number, 2)
                await deal.dealer.release(rank, ticket.batch)


async def test_shards_that_always_have_batches_are_drawn_from_by_turns() -> None:
    async with dealing(shards=3, workers=1) as deal:
        await deal.open(workers=1)
        shards = []
        for _ in range(6):
            for shard in deal.shards:
                shard.batches = 1  # As of a table that is full.
            deal.shards[0].fill(0)
            (ticket,) = await deal.take(0)
            shards.append(ticket.shard)
            await deal.dealer.release(0, ticket.batch)
        assert shards == [0, 1, 2, 0, 1, 2]


async def test_a_shard_that_has_no_batch_after_all_is_passed_over() -> None:
    async with dealing() as deal:
        await deal.open()
        deal.shards[0].gone = True
        takes = [asyncio.create_task(deal.take(rank)) for rank in (0, 1)]
        deal.shards[0].fill(1)
        deal.shards[1].fill(1)
        await settle()
        assert not any(take.done() for take in takes)
        deal.shards[1].fill(1)
        assert [tickets[0].shard for tickets in await asyncio.gather(*takes)] == [1, 1]


async def test_a_quiet_night_brings_everyone_an_empty_batch_and_what_was_drawn_waits() -> None:
    async with dealing(heartbeat_s=0.2) as deal:
        await deal.open()
        deal.shards[0].fill(1)
        assert [ticket.shard for ticket in await deal.round()] == [EMPTY, EMPTY]
        assert len(deal.shards[0].kept) == 1
        deal.shards[1].fill(1)
        assert sorted(ticket.shard for ticket in await deal.round()) == [0, 1]


async def test_a_shard_keeps_a_batch_until_it_is_released() -> None:
    async with dealing(shards=1, workers=1) as deal:
        await deal.open(workers=1)
        deal.shards[0].fill(1)
        (ticket,) = await deal.take(0)
        assert deal.shards[0].kept == {ticket.number}
        assert await deal.dealer.release(0, ticket.batch)
        assert deal.shards[0].kept == set()
        assert not await deal.dealer.release(0, ticket.batch)


async def test_a_new_group_has_the_shards_forget_what_the_old_one_was_dealt() -> None:
    async with dealing() as deal:
        await deal.open()
        deal.shards[0].fill(2)
        await deal.take(0)  # The other half of the round is never taken.
        assert len(deal.shards[0].kept) == 2
        await deal.open("new")
        assert deal.shards[0].kept == set()
        assert await deal.dealer.take(0, "g") is NoBatch.OVER


async def test_a_smaller_group_gets_smaller_rounds_and_what_was_drawn_for_the_larger_one() -> None:
    async with dealing(workers=3) as deal:
        await deal.open(workers=3)
        takes = [asyncio.create_task(deal.dealer.take(rank, "g")) for rank in range(3)]
        deal.shards[0].fill(2)
        await settle()  # Both are drawn, and wait for a third.
        await deal.dealer.open(0, "one", 1)
        assert [await take for take in takes] == [NoBatch.OVER] * 3
        (empty,) = await deal.take(0, "one")
        await deal.dealer.release(0, empty.batch)
        for _ in range(2):
            (ticket,) = await deal.take(0, "one")
            assert ticket.shard == 0
            await deal.dealer.release(0, ticket.batch)
        assert deal.shards[0].kept == set()


async def test_several_batches_are_taken_together_as_far_as_credits_reach() -> None:
    async with dealing(workers=1, credits_batches=3, together=True) as deal:
        await deal.open(workers=1)
        deal.shards[0].fill(5)
        taken = await deal.take(0)
        assert [ticket.batch for ticket in taken] == [1, 2, 3]
        await deal.dealer.release(0, 2)
        assert [ticket.batch for ticket in await deal.take(0)] == [4]


async def test_what_travels_together_is_dealt_once_half_of_the_credits_are_free() -> None:
    async with dealing(workers=1, credits_batches=4, together=True) as deal:
        await deal.open(workers=1)
        deal.shards[0].fill(9)
        assert len(await deal.take(0)) == 4
        asked = asyncio.create_task(deal.take(0))
        await deal.dealer.release(0, 1)
        await settle()
        assert not asked.done()
        await deal.dealer.release(0, 2)
        assert [ticket.batch for ticket in await asked] == [5, 6]


async def test_one_batch_is_not_kept_back_for_others_that_may_come() -> None:
    async with dealing(workers=1, credits_batches=3, together=True) as deal:
        await deal.open(workers=1)
        deal.shards[0].fill(1)
        assert len(await deal.take(0)) == 1


async def test_a_stream_that_ends_while_a_batch_is_drawn_ends_for_all_workers_behind_the_same_round() -> None:
    async with dealing(shards=1, credits_batches=4, together=True) as deal:
        await deal.open()
        (shard,) = deal.shards
        shard.quick = 2  # The first round; the next one, which would travel with it, is under way at the end.
        shard.fill(4)
        asked = asyncio.create_task(deal.round())
        await settle()
        deal.dealer.close()
        assert [ticket.batch for ticket in await asked] == [1, 1]
        assert await deal.dealer.take(0, "g") is NoBatch.OVER
        shard.slow.set()
        await settle()
        assert await deal.dealer.take(1, "g") is NoBatch.OVER


async def test_a_take_that_nothing_answers_ends_so_that_the_worker_asks_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TAKE_WAIT_S", 0.02)
    async with dealing() as deal:
        await deal.open()
        assert await deal.dealer.take(0, "g") is NoBatch.IDLE


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(1, 3), st.booleans()), min_size=1, max_size=15),
    st.booleans(),
    st.integers(1, 3),
)
def test_all_workers_see_the_same_rounds_and_no_batch_goes_to_two(
    fills: list[tuple[int, int, bool]], together: bool, credits_batches: int
) -> None:
    asyncio.run(_check_rounds(fills, credits_batches, together=together))


async def _check_rounds(fills: list[tuple[int, int, bool]], credits_batches: int, *, together: bool) -> None:
    seen: list[list[Ticket]] = [[], [], []]
    async with dealing(3, 3, credits_batches, 0.005, together=together) as deal:
        await deal.open(workers=3)
        workers = [asyncio.create_task(_work(deal, rank, seen[rank])) for rank in range(3)]
        for shard, batches, fails in fills:
            deal.shards[shard].gone = fails
            deal.shards[shard].fill(batches)
            await settle()
        await asyncio.sleep(0.02)
        for worker in workers:
            worker.cancel()
        await asyncio.wait(workers, timeout=10)
    for tickets in zip(*seen, strict=False):  # As far as all have come.
        assert len({ticket.batch for ticket in tickets}) == 1
        assert len({ticket.shard == EMPTY for ticket in tickets}) == 1
    held = [(ticket.shard, ticket.number) for tickets in seen for ticket in tickets if ticket.shard != EMPTY]
    assert len(held) == len(set(held))


async def _work(deal: Deal, rank: int, seen: list[Ticket]) -> None:
    while True:
        for ticket in await deal.take(rank):
            seen.append(ticket)
            for _ in range(rank):
                await asyncio.sleep(0)
            await deal.dealer.release(rank, ticket.batch)
