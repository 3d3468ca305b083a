import asyncio

import pytest

from app.sessions.shared_tasks import SharedTasks


class Work:
    """Counts how often it is done, and waits for a word."""

    def __init__(self) -> None:
        self.begun = 0
        self.go_on = asyncio.Event()

    async def __call__(self) -> int:
        self.begun += 1
        await self.go_on.wait()
        return self.begun


async def test_those_who_want_the_same_at_the_same_time_share_one_task() -> None:
    tasks, work = SharedTasks[int](), Work()
    asked = [asyncio.create_task(tasks.result("a", work)) for _ in range(3)]
    other = asyncio.create_task(tasks.result("b", work))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    work.go_on.set()
    assert await asyncio.gather(*asked) == [2, 2, 2]  # Both keys had begun before one of them ended.
    assert await other == 2


async def test_what_is_done_is_done_anew_for_the_next() -> None:
    tasks, work = SharedTasks[int](), Work()
    work.go_on.set()
    assert [await tasks.result("a", work) for _ in range(2)] == [1, 2]


async def test_the_work_goes_on_when_who_began_it_is_cancelled() -> None:
    tasks, work = SharedTasks[int](), Work()
    first, second = (asyncio.create_task(tasks.result("a", work)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    work.go_on.set()
    assert await second == 1
    assert first.cancelled()


async def test_a_failure_is_shared_and_then_forgotten() -> None:
    tasks = SharedTasks[int]()

    async def fail() -> int:
        raise ValueError("broken")

    for error in await asyncio.gather(*(tasks.result("a", fail) for _ in range(2)), return_exceptions=True):
        assert isinstance(error, ValueError)
    work = Work()
    work.go_on.set()
    assert await tasks.result("a", work) == 1


async def test_all_that_is_under_way_can_be_cancelled() -> None:
    tasks, work = SharedTasks[int](), Work()
    asked = asyncio.create_task(tasks.result("a", work))
    await asyncio.sleep(0)
    await tasks.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
