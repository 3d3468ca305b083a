import asyncio

from app.metrics.registry import Registry
from app.sessions.times import TickTimes
from tests.sessions.fake_agent import Table


async def test_each_answered_tick_is_timed_in_the_queue_and_with_its_agent() -> None:
    registry = Registry()
    table = Table(times=TickTimes(registry))
    await table.start()
    await asyncio.gather(*(table.tick(number) for number in range(3)))
    await table.stop()
    found = {dict(part.labels)["part"]: part.summary for part in registry.whole()}
    assert {part: summary.count for part, summary in found.items()} == {"queue": 3, "agent": 3}
    assert all(0 <= summary.min <= summary.max < 1 for summary in found.values())


async def test_a_table_without_times_measures_nothing() -> None:
    table = Table()
    await table.start()
    await table.tick(1)
    assert table.counts["ticks_train"] == 1
