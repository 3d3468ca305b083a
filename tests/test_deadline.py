import asyncio

from app.deadline import StepTime, step_until_s


async def test_a_step_has_a_time_and_outside_of_steps_there_is_none() -> None:
    assert step_until_s() is None
    time = StepTime(5.0)
    assert step_until_s() == 5.0
    time.over()
    assert step_until_s() is None


async def test_steps_of_two_tasks_have_their_own_times() -> None:
    async def step(until_s: float) -> float | None:
        StepTime(until_s)
        await asyncio.sleep(0)
        return step_until_s()

    assert await asyncio.gather(step(1.0), step(2.0)) == [1.0, 2.0]


async def test_what_a_step_leaves_running_has_no_time_once_the_step_is_over() -> None:
    time = StepTime(5.0)
    go_on = asyncio.Event()

    async def left() -> list[float | None]:
        during = step_until_s()
        await go_on.wait()
        return [during, step_until_s()]

    task = asyncio.create_task(left())
    await asyncio.sleep(0)
    time.over()
    go_on.set()
    assert await task == [5.0, None]
