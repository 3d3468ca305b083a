import asyncio

from app.deadline import step_until_s
from app.sessions.deadlines import Deadlines


async def step(deadlines: Deadlines, work: asyncio.Event) -> str:
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()
    assert task is not None
    deadlines.begin(task, loop)
    try:
        await work.wait()
    except asyncio.CancelledError:
        seen = deadlines.expired()
        if deadlines.end(task):
            return f"late, seen {seen}"
        raise
    assert not deadlines.end(task)
    return "in time"


async def test_a_step_that_takes_too_long_is_cancelled_and_can_go_on() -> None:
    deadlines, never = Deadlines(0.01), asyncio.Event()
    assert await step(deadlines, never) == "late, seen True"
    done = asyncio.Event()
    done.set()
    assert await step(deadlines, done) == "in time"
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


async def test_steps_expire_one_by_one_however_many_there_are() -> None:
    deadlines, never, done = Deadlines(0.02), asyncio.Event(), asyncio.Event()
    steps = [asyncio.create_task(step(deadlines, done if number % 3 else never)) for number in range(30)]
    await asyncio.sleep(0)
    done.set()
    outcomes = await asyncio.wait_for(asyncio.gather(*steps), 30)
    assert outcomes == ["in time" if number % 3 else "late, seen True" for number in range(30)]


async def test_a_cancellation_from_outside_is_not_taken_for_a_deadline() -> None:
    deadlines = Deadlines(10)
    task = asyncio.create_task(step(deadlines, asyncio.Event()))
    await asyncio.sleep(0)
    task.cancel()
    (outcome,) = await asyncio.gather(task, return_exceptions=True)
    assert isinstance(outcome, asyncio.CancelledError)


async def test_a_step_knows_until_when_its_answer_is_wanted() -> None:
    deadlines, loop, task = Deadlines(30.0), asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    deadlines.begin(task, loop)
    until_s = step_until_s()
    assert until_s is not None
    assert 29 < until_s - loop.time() <= 30
    deadlines.end(task)
    assert step_until_s() is None
