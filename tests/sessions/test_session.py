import asyncio

import pytest

from app.errors import BadPayloadError, SeqGapError, StaleSeqError
from app.sessions.blackboard import Board
from app.sessions.game import Game
from app.sessions.replies import REPLIES_KEPT
from app.sessions.session import EndCause, Session
from app.types import Purpose, StepKind, Version
from app.wire.steps import Body, JsonBody, StepReply, StepRequest

from .fake_agent import BytesAgent, FakeAgent


def session_of(agent: FakeAgent | None = None) -> Session:
    game = Game("s")
    return Session("s", game, agent or FakeAgent("s", Purpose.TRAIN), Board(game, "s", 1), Purpose.TRAIN, now_s=10.0)


async def tick(session: Session, body: Body, seq: int | None = None) -> StepReply:
    return await session.tick(StepRequest("s", StepKind.TICK, body, seq=seq), asyncio.timeout(1))


async def test_a_reply_carries_session_answer_number_and_version() -> None:
    agent = FakeAgent("s", Purpose.TRAIN)
    session = session_of(agent)
    assert await session.start(b"") == StepReply("s", b'{"echo":null}', 0, is_json=True)
    agent.version = Version(1, 4)
    assert await tick(session, b'{"x": 1}') == StepReply("s", b'{"echo":{"x":1}}', 1, Version(1, 4), is_json=True)
    assert (await session.stop(StepRequest("s", StepKind.STOP, JsonBody(2)))).seq == 2
    assert agent.ends == [EndCause.STOP]


async def test_the_reply_to_the_start_is_kept() -> None:
    session = session_of()
    reply = await session.start(JsonBody({"level": 3}))
    assert session.started is reply


async def test_the_newest_replies_are_kept_by_number() -> None:
    session = session_of()
    replies = {number: await tick(session, JsonBody(number)) for number in range(1, REPLIES_KEPT + 4)}
    newest = max(replies)
    kept = range(newest - REPLIES_KEPT + 1, newest + 1)
    assert all(session.replayed(number) is replies[number] for number in kept)
    with pytest.raises(StaleSeqError, match=f"seq is {kept[0] - 1}"):
        session.replayed(kept[0] - 1)


async def test_the_next_number_is_new_and_one_beyond_it_a_gap() -> None:
    session = session_of()
    await tick(session, JsonBody(1))
    assert session.replayed(2) is None
    assert session.replayed(None) is None
    assert not session.may_play(3)
    with pytest.raises(SeqGapError, match="seq is 3; session 's' expects 2"):
        await session.in_turn(3)


async def test_a_session_that_goes_on_from_a_snapshot_accepts_one_jump() -> None:
    agent = FakeAgent("s", Purpose.TRAIN)
    session = session_of(agent)
    session.resume(5)
    session.resumed_at = 5
    await session.in_turn(9)
    assert session.may_play(9)
    reply = await tick(session, JsonBody(1), seq=9)
    assert (reply.seq, reply.resumed_at, agent.missed) == (9, 5, [3])
    assert not session.may_play(11)
    assert (await tick(session, JsonBody(2), seq=10)).resumed_at is None


async def test_a_session_that_goes_on_without_a_jump_misses_nothing() -> None:
    agent = FakeAgent("s", Purpose.TRAIN)
    session = session_of(agent)
    session.resume(5)
    session.resumed_at = 5
    assert (await tick(session, JsonBody(1), seq=6)).resumed_at == 5
    assert agent.missed == []


async def test_a_session_without_numbers_does_not_know_what_it_missed() -> None:
    agent = FakeAgent("s", Purpose.TRAIN)
    session = session_of(agent)
    session.resume(5)
    session.resumed_at = 5
    assert (await tick(session, JsonBody(1))).seq == 6
    assert agent.missed == [None]


async def test_a_step_that_failed_uses_no_number_up() -> None:
    agent = FakeAgent("s", Purpose.TRAIN)
    session = session_of(agent)
    agent.failure = BadPayloadError("no")
    with pytest.raises(BadPayloadError):
        await tick(session, JsonBody(1))
    assert session.seq == 0
    assert session.replayed(1) is None


async def test_a_session_is_idle_from_its_last_use_on_unless_a_step_runs() -> None:
    session = session_of()
    assert session.idle_since(10.0)
    assert not session.idle_since(9.9)
    async with session.lock:
        assert not session.idle_since(10.0)


async def test_a_session_speaks_as_its_agent_says() -> None:
    agent = BytesAgent("s", Purpose.PLAY)
    assert (await tick(session_of(agent), b"\xff{")).body == b"\xff{"
    with pytest.raises(BadPayloadError, match="this agent reads bytes"):
        await tick(session_of(agent), JsonBody({"a": 1}))
    with pytest.raises(BadPayloadError, match="not JSON"):
        await tick(session_of(), b"{")


async def test_a_difference_is_applied_to_the_last_tick_that_was_answered() -> None:
    agent = FakeAgent("s", Purpose.PLAY)
    session = session_of(agent)
    await tick(session, b'{"a": 1, "b": {"c": 2}}')
    agent.failure = BadPayloadError("no")
    difference = StepRequest("s", StepKind.TICK, b'{"b": {"c": 3}}', delta=True)
    with pytest.raises(BadPayloadError):
        await session.tick(difference, asyncio.timeout(1))
    agent.failure = None
    for _ in range(2):
        await session.tick(difference, asyncio.timeout(1))
    assert agent.ticks == [{"a": 1, "b": {"c": 2}}, *[{"a": 1, "b": {"c": 3}}] * 2]
