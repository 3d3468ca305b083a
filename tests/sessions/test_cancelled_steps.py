"""Steps that nobody waits for any more leave nothing behind."""

import asyncio
import random

import pytest

from app.sessions.session import WAITING_MAX

from .fake_agent import FakeAgent, Table

CALLS = 2_000
SHARE = 0.3
AT_ONCE = 200
"""Steps of one session that wait at a time; fewer than may."""


class HesitantAgent(FakeAgent):
    """Answers after a few turns of the loop."""

    async def _call(self, name: str, payload: object) -> object:
        for _ in range(3):
            await asyncio.sleep(0)
        return await super()._call(name, payload)


@pytest.mark.parametrize("seed", range(3))
async def test_cancelled_steps_leave_no_place_taken_in_the_queue_and_no_lock_held(seed: int) -> None:
    source = random.Random(seed)  # noqa: S311  # A test, not a secret.
    table = Table(make=HesitantAgent)
    await table.start()
    cancelled = played = 0
    while cancelled + played < CALLS:
        steps = [asyncio.ensure_future(table.tick(number)) for number in range(AT_ONCE)]
        given_up = source.sample(steps, int(SHARE * AT_ONCE))
        while given_up:
            for _ in range(source.randrange(5)):
                await asyncio.sleep(0)
            given_up.pop().cancel()
        ended = await asyncio.gather(*steps, return_exceptions=True)
        cancelled += sum(isinstance(end, asyncio.CancelledError) for end in ended)
        played += sum(end == {"echo": number} for number, end in enumerate(ended))
    assert cancelled > WAITING_MAX  # A leak of one place a call would have been noticed.
    assert cancelled + played == CALLS
    agent = table.agent("s")
    assert not agent.overlapped
    assert agent.running == 0
    session = table.table.sessions["s"]
    assert not session.lock.locked()
    async with asyncio.timeout(5):  # A full queue of them is taken, and played in order.
        echoes = await asyncio.gather(*(table.tick(number) for number in range(WAITING_MAX)))
    assert echoes == [{"echo": number} for number in range(WAITING_MAX)]
    await table.stop()
    assert len(table.table) == 0
