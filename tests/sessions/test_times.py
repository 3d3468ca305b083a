import asyncio

from app.metrics.names import TICK_SECONDS
from app.metrics.registry import Registry
from app.metrics.series import PENDING_MAX
from app.sessions.times import TickTimes
from tests.sessions.fake_agent import Table


async def test_each_answered_tick_is_timed_in_the_queue_and_with_its_agent() -> None:
    registry = Registry()
    times = TickTimes(registry)
    table = Table(times=lambda _: times)
    await table.start()
    await asyncio.gather(*(table.tick(number) for number in range(3)))
    await table.stop()
    found = {dict(part.labels)["part"]: part.summary for part in registry.whole()}
    assert {part: summary.count for part, summary in found.items()} == {"queue": 3, "agent": 3}
    assert all(0 <= summary.min <= summary.max < 1 for summary in found.values())


async def test_the_ticks_of_a_session_for_which_there_are_no_times_are_not_measured() -> None:
    registry = Registry()
    times = TickTimes(registry)
    table = Table(times=lambda session: times if session == "timed" else None)
    for session in ("timed", "other"):
        await table.start(session=session)
        await table.tick(1, session=session)
    assert [part.summary.count for part in registry.whole()] == [1, 1], "queue and agent, of one session"


def test_ticks_for_whose_series_there_is_no_room_are_counted_as_dropped() -> None:
    registry = Registry(series_max=0)
    times = TickTimes(registry)
    for _ in range(PENDING_MAX):
        times.took(0.0, 0.0)
    times.took(0.0, 0.0)
    assert registry.dropped == 2 * (PENDING_MAX + 1)
    assert registry.whole() == []


def test_times_that_nobody_reads_are_reduced_all_the_same() -> None:
    registry = Registry()
    times = TickTimes(registry)
    for _ in range(PENDING_MAX):
        times.took(0.0, 0.0)
    series = [registry.series(TICK_SECONDS, part=part) for part in ("queue", "agent")]
    assert [(len(one.pending), one.whole.count) for one in series] == [(0, PENDING_MAX)] * 2


async def test_a_table_without_times_measures_nothing() -> None:
    table = Table()
    await table.start()
    await table.tick(1)
    assert table.counts["ticks_train"] == 1
