"""Sessions belong to the key that started them, from start to hand-over."""

import asyncio

import pytest

from app.errors import OverloadedError, UnauthorizedError
from app.sessions.doors import Doors
from app.sessions.game import Game
from app.sessions.keys import Key, Quota
from app.sessions.snapshot import restore_session, save_session
from app.types import Purpose, SessionId
from app.wire.steps import StepRequest

from .fake_agent import FakeAgent, Table, turns


class Guarding:
    """The guard of a table, at a time that stands still."""

    def __init__(self, *keys: Key) -> None:
        self.doors = Doors(keys, Purpose.TRAIN)

    def check(self, request: StepRequest) -> None:
        self.doors.check(request, 0.0)

    def place(self, request: StepRequest) -> str | None:
        return self.doors.place(request, 0.0)

    def bind(self, session: SessionId, key: str | None) -> None:
        self.doors.bind(session, key)

    def ended(self, session: SessionId) -> None:
        self.doors.ended(session)

    def was_of(self, session: SessionId, key: str | None) -> None:
        self.doors.was_of(session, key)


def guarded(**more: int) -> tuple[Table, Doors]:
    guard = Guarding(Key("a", "key a", quota=Quota(max_sessions=2)), Key("b", "key b"))
    return Table(guard=guard, **more), guard.doors


def sessions(doors: Doors, key: str) -> int:
    return doors.usage()[key]["sessions"]


async def refused(table: Table, kind: str, key: str, **more: int) -> bool:
    with pytest.raises(UnauthorizedError, match="another key"):
        await table.step(kind, key=key, **more)
    return True


async def test_another_key_can_neither_play_nor_end_nor_restart_a_session() -> None:
    table, _ = guarded()
    await table.step("start", key="key a")
    await table.step("tick", key="key a")
    for kind in ("start", "tick", "stop"):
        assert await refused(table, kind, "key b")
    assert table.agent("s").ends == []
    assert (await table.step("tick", key="key a")).seq == 2


async def test_the_sequence_of_a_session_does_not_notice_the_steps_of_another_key() -> None:
    table, _ = guarded()
    await table.step("start", key="key a")
    for seq in (1, 2, 3):
        assert await refused(table, "tick", "key b", seq=seq)
    assert (await table.step("tick", key="key a", seq=1)).seq == 1


async def test_another_key_does_not_slip_in_while_a_session_starts() -> None:
    gate, made = asyncio.Event(), []

    def make(session: str, purpose: Purpose) -> FakeAgent:
        agent = FakeAgent(session, purpose)
        agent.gate = gate
        made.append(agent)
        return agent

    table = Table(guard=Guarding(Key("a", "key a"), Key("b", "key b")), make=make)
    start = asyncio.create_task(table.step("start", key="key a"))
    await turns()
    assert await refused(table, "tick", "key b")
    gate.set()
    await start
    assert [kind for kind, _ in made[0].calls] == ["start"]


async def test_a_step_that_waited_does_not_go_on_in_a_session_that_began_anew_under_another_key() -> None:
    table, _ = guarded()
    await table.step("start", key="key a")
    agent = table.agent("s")
    agent.gate = asyncio.Event()
    stop = asyncio.create_task(table.step("stop", key="key a"))
    await agent.entered.wait()
    start = asyncio.create_task(table.step("start", key="key b"))
    await turns()
    late = asyncio.create_task(table.step("tick", key="key a"))
    await turns()
    agent.gate.set()
    await asyncio.wait([stop, start, late])
    assert start.exception() is None
    with pytest.raises(UnauthorizedError, match="another key"):
        await late
    assert [kind for kind, _ in table.agent("s").calls] == ["start"]


async def test_a_stop_is_repeated_by_its_key_alone_and_the_id_is_free() -> None:
    table, doors = guarded()
    await table.step("start", key="key a")
    stopped = await table.step("stop", key="key a", seq=1)
    assert await refused(table, "stop", "key b", seq=1)
    assert await table.step("stop", key="key a", seq=1) == stopped
    await table.step("start", key="key b")
    assert await refused(table, "tick", "key a")
    assert (sessions(doors, "a"), sessions(doors, "b")) == (0, 1)


async def test_a_key_at_its_limit_claims_no_game_and_gets_room_when_a_session_is_over() -> None:
    claimed: list[str] = []

    async def claim(game: str) -> int:
        claimed.append(game)
        await asyncio.sleep(0)
        return 1

    guard = Guarding(Key("a", "key a", quota=Quota(max_sessions=2)))
    table, doors = Table(guard=guard, claim=claim, idle_timeout_s=5), guard.doors
    await table.step("start", "one", key="key a")
    await table.step("start", "two", key="key a")
    await table.step("start", "two", key="key a")
    with pytest.raises(OverloadedError, match="'a' has 2 sessions open"):
        await table.step("start", "three", key="key a")
    assert claimed == ["one", "two"]
    await table.step("tick", "two", key="key a")
    await table.step("start", "two", key="key a")  # Without seq: the old episode ends, the new one takes its place.
    table.now_s += 10
    await table.table.sweep()
    assert sessions(doors, "a") == 0
    starts = (table.step("start", f"late-{number}", key="key a") for number in range(5))
    done = await asyncio.gather(*starts, return_exceptions=True)
    assert sum(isinstance(result, OverloadedError) for result in done) == 3
    assert sessions(doors, "a") == 2
    assert len(table.table.games.all()) == 2


async def test_a_start_that_fails_leaves_no_place_taken() -> None:
    failing = FakeAgent("s", Purpose.TRAIN)
    failing.failure = RuntimeError("broken")
    guard = Guarding(Key("a", "key a", quota=Quota(max_sessions=1)))
    table, doors = Table(guard=guard, make=lambda *_: failing), guard.doors
    for _ in range(3):
        with pytest.raises(Exception, match="broken"):
            await table.step("start", key="key a")
    assert sessions(doors, "a") == 0


async def test_a_session_that_is_handed_over_stays_its_keys() -> None:
    giver, _ = guarded()
    taker, doors = guarded()
    await giver.step("start", key="key a")
    saved = save_session(giver.table.sessions["s"])
    game = Game(saved.game, 9)
    await restore_session(taker.table, game, saved.data, crashed=False)
    taker.table.games.enter(game)
    assert await refused(taker, "tick", "key b")
    assert (await taker.step("tick", key="key a")).seq == 1
    assert sessions(doors, "a") == 1


async def test_the_last_reply_of_a_session_that_was_handed_over_stays_its_keys() -> None:
    giver, _ = guarded()
    taker, _ = guarded()
    await giver.step("start", key="key a")
    reply = await giver.step("stop", key="key a")
    kept = giver.table.stopped.of_game("s")
    taker.table.keep_stopped("s", "s", kept[0].reply, kept[0].key)
    assert await refused(taker, "stop", "key b")
    assert await taker.step("stop", key="key a") == reply
