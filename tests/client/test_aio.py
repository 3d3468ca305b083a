"""The asyncio client against a service that fails on demand."""

import asyncio
import random
from typing import Any

import pytest

from app.client.aio import Client, RetryLimits, Session, Step
from app.client.errors import (
    AgentError,
    BadPayloadError,
    ClientClosedError,
    DrainingError,
    ServiceUnreachableError,
    SessionClosedError,
    SessionLostError,
    StepFailedError,
    UnauthorizedError,
    UnreadableReplyError,
)
from app.wire.messages_pb2 import Error

from .fake_service import FakeSession, fake_service
from .lossy_proxy import lossy_proxy

QUICK = RetryLimits(limit_s=20, request_s=5, first_wait_s=0.001, longest_wait_s=0.01)
IMPATIENT = RetryLimits(limit_s=0.2, request_s=0.1, first_wait_s=0.001, longest_wait_s=0.01)


def newest(session: FakeSession) -> Any:
    """Answers a tick with what it brought, so that a mixed-up answer shows."""
    return session.steps[-1][2]


async def play(client: Client, game: str, ticks: int) -> list[Any]:
    async with client.start(game=game, agent="player") as session:
        answers = [(await session.tick({"game": game, "t": t})).value["action"] for t in range(ticks)]
        await session.stop({"terminated": True})
    return answers


def expected(game: str, ticks: int) -> list[Any]:
    return [("start", 0, None)] + [("tick", t + 1, {"game": game, "t": t}) for t in range(ticks)] + [
        ("stop", ticks + 1, {"terminated": True})
    ]  # fmt: skip


async def test_a_game_is_the_contracts_and_its_answers_tell_all() -> None:
    async with fake_service(newest) as service, Client(service.url, purpose="evaluate") as client:
        service.version = "3.7"
        session = await client.start(game="g", agent="player", purpose="play", options={"role": "thief"})
        answer = await session.tick({"x": 1})
        assert (answer.value, answer.body) == ({"action": {"x": 1}}, b'{"action":{"x":1}}')
        assert (answer.seq, answer.policy_version, answer.resumed_at) == (1, "3.7", None)
        assert session.open
        await session.stop({"terminated": True})
        assert not session.open
        with pytest.raises(SessionClosedError, match="a tick of session 'g-agent-player', which is stopped"):
            await session.tick({})
    fake = service.sessions["g-agent-player"]
    assert fake.purpose == "play"
    assert fake.steps == [("start", 0, {"role": "thief"}), ("tick", 1, {"x": 1}), ("stop", 2, {"terminated": True})]


async def test_leaving_a_session_stops_it() -> None:
    async with fake_service() as service, Client(service.url) as client:
        async with client.start("a") as session:
            await session.tick({})
        assert service.sessions["a"].steps[-1] == ("stop", 2, None)


async def test_bytes_and_messages_travel_as_they_are() -> None:
    reply = Error(code="north").SerializeToString()
    async with fake_service(lambda _: reply) as service, Client(service.url) as client:
        raw = await client.start("raw")
        assert (await raw.tick(b"\x00\xff")).value == reply
        session = await client.start("proto", reply_type=Error)
        assert (await session.tick(Error(message="state"))).value == Error(code="north")
    assert service.sessions["raw"].bodies("tick") == [b"\x00\xff"]
    assert service.sessions["proto"].bodies("tick") == [Error(message="state").SerializeToString()]


async def test_an_answer_of_another_type_is_an_error_and_the_game_goes_on() -> None:
    replies = iter([b"\xff\xff", Error(code="ok").SerializeToString()])
    async with fake_service(lambda _: next(replies)) as service, Client(service.url) as client:
        session = await client.start("a", reply_type=Error)
        with pytest.raises(UnreadableReplyError, match=r"the reply is no sparring\.v1\.Error"):
            await session.tick({"t": 0})
        assert (await session.tick({"t": 1})).value.code == "ok"
    assert [body["t"] for body in service.sessions["a"].bodies("tick")] == [0, 1]


async def test_auto_needs_no_session() -> None:
    async with fake_service() as service, Client(service.url) as client:
        assert (await client.auto({"x": 1})).value == {"auto": {"x": 1}}


async def test_a_tick_whose_reply_is_dropped_is_not_played_twice() -> None:
    async with fake_service(newest) as service, Client(service.url, limits=QUICK) as client:
        service.drop_after, service.drop_before, service.close_after = {2, 5}, {4}, {7}
        assert await play(client, "g", 5) == [{"game": "g", "t": t} for t in range(5)]
    assert service.sessions["g-agent-player"].steps == expected("g", 5)
    assert (service.repeats, client.counts.retries) == (2, 3)


async def test_a_retried_start_without_a_name_opens_one_game() -> None:
    async with fake_service() as service, Client(service.url, limits=QUICK) as client:
        service.drop_after = {1}
        session = await client.start()
        await session.tick({})
        assert list(service.sessions) == [session.id]
        other = await client.start()
        assert other.id != session.id


async def test_a_start_that_was_given_up_may_be_asked_for_again() -> None:
    async with fake_service() as service, Client(service.url, limits=QUICK) as client:
        session = client.session()
        service.silent = True
        starting = asyncio.create_task(session.start())
        await service.until(lambda: len(service.sessions) == 1)
        starting.cancel()
        await asyncio.wait([starting])
        service.silent = False
        service.links[0].transport.abort()
        assert (await session.start()).seq == 0
        await session.tick({})
        assert list(service.sessions) == [session.id]


async def test_fifty_games_lose_and_repeat_nothing_though_a_tenth_of_the_replies_is_dropped() -> None:
    async with fake_service(newest) as service:
        port = int(service.url.rpartition(":")[2])
        async with (
            lossy_proxy(port, 0.1, seed=7) as proxy,
            Client(f"http://127.0.0.1:{proxy.port}", limits=QUICK) as client,
        ):
            games = await asyncio.gather(*[play(client, f"g{i}", 20) for i in range(50)])
    assert proxy.losses > 20
    assert games == [[{"game": f"g{i}", "t": t} for t in range(20)] for i in range(50)]
    assert {name: s.steps for name, s in service.sessions.items()} == {
        f"g{i}-agent-player": expected(f"g{i}", 20) for i in range(50)
    }


async def test_calls_cancelled_at_random_times_disturb_no_later_one() -> None:
    source = random.Random(3)  # noqa: S311

    async def cancelled_now_and_then(session: Session, ticks: int) -> int:
        cancelled = 0
        for t in range(ticks):
            call = asyncio.create_task(session.tick({"t": t}))
            if source.random() < 0.3:
                for _ in range(source.randrange(6)):  # At any stage of the call.
                    await asyncio.sleep(0)
                cancelled += call.cancel()
            await asyncio.wait([call])
            if not call.cancelled():
                assert call.result().value == {"action": {"t": t}}
        return cancelled

    async with fake_service(newest) as service, Client(service.url, limits=QUICK, connections=2) as client:
        sessions = [await client.start(f"s{i}") for i in range(20)]
        cancelled = sum(await asyncio.gather(*[cancelled_now_and_then(s, 100) for s in sessions]))
        assert cancelled > 400
        for session in sessions:
            assert (await session.tick({"t": 100})).value == {"action": {"t": 100}}
            await session.stop()
    for fake in service.sessions.values():
        told = [body["t"] for body in fake.bodies("tick")]
        assert told == sorted(set(told))  # In order, none twice; one cancelled before it was sent may be missing.
        assert [seq for _, seq, _ in fake.steps] == list(range(len(fake.steps)))


async def test_a_cancelled_stop_is_not_sent_twice() -> None:
    async with fake_service() as service, Client(service.url, limits=QUICK) as client:
        session = await client.start("a")
        service.silent = True
        stopping = asyncio.create_task(session.stop({"n": 1}))
        await service.until(lambda: service.sessions["a"].stopped)
        stopping.cancel()
        await asyncio.wait([stopping])
        service.silent = False
        service.links[0].transport.abort()
        await session.stop({"n": 2})
        assert service.sessions["a"].bodies("stop") == [{"n": 1}]
        assert not session.open


async def test_a_tick_that_found_no_service_is_settled_by_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    async with fake_service(newest) as service, Client(service.url, limits=QUICK) as client:
        session = await client.start("a")
        service.silent = True
        with monkeypatch.context() as during:
            during.setattr(client._link, "_limits", IMPATIENT)  # The steps that are answered may take their time.
            with pytest.raises(ServiceUnreachableError, match=f"{service.url} gave no answer"):
                await session.tick({"t": 0})
        service.silent = False
        assert (await session.tick({"t": 1})).value == {"action": {"t": 1}}
    assert service.sessions["a"].bodies("tick") == [{"t": 0}, {"t": 1}]


async def test_a_game_goes_on_over_another_connection() -> None:
    async with fake_service(newest) as service, Client(service.url, limits=QUICK) as client:
        session = await client.start("a")
        for t in range(6):
            service.links[-1].transport.abort()
            assert (await session.tick({"t": t})).value == {"action": {"t": t}}
    assert len(service.sessions["a"].connections) == 7


@pytest.mark.parametrize("code", ["overloaded", "draining"])
async def test_refusals_for_now_are_waited_out(code: str) -> None:
    async with fake_service(newest) as service, Client(service.url, limits=QUICK) as client:
        session = await client.start("a")
        service.step_refusals["a", 1] = [code] * 3
        assert (await session.tick({"t": 0})).value == {"action": {"t": 0}}
        assert client.counts.retries == 3
    assert len(service.sessions["a"].connections) == (4 if code == "draining" else 1)


async def test_a_refusal_that_lasts_is_raised_by_its_own_class() -> None:
    async with fake_service() as service, Client(service.url, limits=IMPATIENT) as client:
        service.refusals.extend([(503, "draining")] * 1000)
        with pytest.raises(DrainingError, match=r"the service answered draining \(503\): by script"):
            await client.start("a")


async def test_a_last_try_that_the_limit_cuts_short_does_not_hide_the_refusals_before_it() -> None:
    limits = RetryLimits(limit_s=1, request_s=5, first_wait_s=0.001, longest_wait_s=0.01)
    async with fake_service() as service, Client(service.url, limits=limits) as client:
        service.silent = True
        service.refusals.extend([(503, "draining")] * 3)
        with pytest.raises(DrainingError, match=r"the service answered draining \(503\): by script"):
            await client.start("a")
        with pytest.raises(ServiceUnreachableError, match="gave no answer"):
            await client.start("b")


async def test_a_failed_tick_leaves_its_number_to_the_next() -> None:
    async with fake_service(newest) as service, Client(service.url) as client:
        session = await client.start("a")
        service.step_refusals["a", 1] = ["agent_error", "deadline_exceeded"]
        with pytest.raises(AgentError):
            await session.tick({"t": 0})
        with pytest.raises(StepFailedError, match="deadline_exceeded"):
            await session.tick({"t": 1})
        assert (await session.tick({"t": 2})).seq == 1


async def test_a_lost_game_is_told_by_its_class() -> None:
    async with fake_service() as service, Client(service.url) as client:
        session = await client.start("a")
        service.step_refusals["a", 1] = ["session_lost"]
        with pytest.raises(SessionLostError):
            await session.tick({})


async def test_a_resumed_game_says_so_and_is_counted() -> None:
    async with fake_service() as service, Client(service.url) as client:
        session = await client.start("a")
        service.resumed["a"] = 0
        assert (await session.tick({})).resumed_at == 0
        assert (await session.tick({})).resumed_at is None
        assert (session.resumes, client.counts.resumed) == (1, 1)


async def test_steps_of_one_session_keep_the_order_of_their_calls() -> None:
    async with fake_service(newest) as service, Client(service.url) as client:
        session = await client.start("a")
        answers = await asyncio.gather(*[session.tick({"t": t}) for t in range(20)])
    assert [answer.value["action"]["t"] for answer in answers] == list(range(20))
    assert service.sessions["a"].bodies("tick") == [{"t": t} for t in range(20)]


async def test_many_sessions_share_few_connections() -> None:
    async with fake_service(newest) as service, Client(service.url, connections=3) as client:
        await asyncio.gather(*[play(client, f"g{i}", 5) for i in range(100)])
    assert len(service.links) == 3
    assert all(session.stopped for session in service.sessions.values())


async def test_each_request_of_a_key_carries_its_token() -> None:
    async with fake_service() as service:
        service.secret = secret = "shared"  # noqa: S105
        async with Client(service.url, key="team", secret=secret) as client:
            session = await client.start()
            await session.tick({})
            await client.auto({})
            named = await client.start("n")
            await client.steps([Step(named, {})])
        async with Client(service.url, key="team", secret=secret[1:]) as client:
            with pytest.raises(UnauthorizedError):
                await client.start("a")


async def test_a_batch_is_one_request_for_steps_of_many_sessions() -> None:
    async with fake_service(newest) as service, Client(service.url, purpose="train") as client:
        left, right = client.session("left"), client.session("right", purpose="play")
        frame = [Step(left, {"o": 1}, "start"), Step(left, {"t": 0}), Step(right, None, "start"), Step(right, b"raw")]
        answers = await client.steps(frame)
        assert [a.value for a in answers if not isinstance(a, StepFailedError)][1] == {"action": {"t": 0}}
        assert service.posts == 1
        service.item_refusals.append("agent_error")
        failed, answer = await client.steps([Step(left, {"t": 1}), Step(right, None, "stop")])
        assert isinstance(failed, AgentError)
        assert not isinstance(answer, StepFailedError)
        assert not right.open
        await client.steps([Step(left, {"t": 2}), Step(left, {}, "stop")])
    steps = service.sessions["left"].steps
    assert steps == [("start", 0, {"o": 1}), ("tick", 1, {"t": 0}), ("tick", 2, {"t": 2}), ("stop", 3, {})]
    assert service.sessions["right"].purpose == "play"
    assert service.sessions["right"].bodies("tick") == [b"raw"]


async def test_a_batch_that_was_cancelled_is_settled_step_by_step() -> None:
    async with fake_service(newest) as service, Client(service.url, limits=QUICK) as client:
        session = client.session("a")
        service.silent = True
        frame = [Step(session, None, "start"), Step(session, {"t": 0}), Step(session, {"t": 1})]
        call = asyncio.create_task(client.steps(frame))
        await service.until(lambda: service.ticks == 2)
        call.cancel()
        await asyncio.wait([call])
        service.silent = False
        service.links[0].transport.abort()
        assert (await session.tick({"t": 2})).value == {"action": {"t": 2}}
    assert service.sessions["a"].bodies("tick") == [{"t": 0}, {"t": 1}, {"t": 2}]


async def test_a_batch_of_steps_that_cannot_be_sends_nothing() -> None:
    async with fake_service() as service, Client(service.url) as client:
        session = await client.start("a")
        with pytest.raises(SessionClosedError, match="already started"):
            await client.steps([Step(session, {}), Step(session, {}, "start")])
        unnamed = client.session()
        with pytest.raises(ValueError, match="is started before its ticks"):
            await client.steps([Step(session, {}), Step(unnamed, None, "start"), Step(unnamed, {})])
        with pytest.raises(TypeError, match="a body is bytes, a protobuf message or JSON; got a object"):
            await session.tick(object())
        assert (await session.tick({})).seq == 1


async def test_sessions_without_an_id_are_started_in_one_batch_and_named_by_the_service() -> None:
    async with fake_service(newest) as service, Client(service.url) as client:
        sessions = [client.session() for _ in range(3)]
        await client.steps([Step(session, None, "start") for session in sessions])
        assert len({session.id for session in sessions} - {""}) == 3
        await client.steps([Step(session, {"t": at}) for at, session in enumerate(sessions)])
        assert service.posts == 2
    assert [service.sessions[session.id].bodies("tick") for session in sessions] == [[{"t": at}] for at in range(3)]


async def test_two_batches_over_the_same_sessions_do_not_wait_for_each_other_for_ever() -> None:
    async with fake_service() as service, Client(service.url) as client:
        a, b = await client.start("a"), await client.start("b")
        async with asyncio.timeout(10):
            await asyncio.gather(
                *[client.steps([Step(a, {}), Step(b, {})]) for _ in range(5)],
                *[client.steps([Step(b, {}), Step(a, {})]) for _ in range(5)],
            )
    assert {len(s.steps) for s in service.sessions.values()} == {11}


async def test_large_states_travel_as_differences() -> None:
    async with fake_service(lambda _: 1) as service, Client(service.url) as client:
        session = await client.start("a", delta=True)
        state: dict[str, Any] = {"map": list(range(100)), "players": {"a": {"hp": 9, "x": 0}}}
        for x in range(4):
            state["players"]["a"]["x"] = x  # In place, as game cores do.
            await session.tick(state)
        await session.tick(state | {"players": {"a": None}})  # A patch cannot say null.
        await session.stop()
    deltas = [head.get("delta", "") for head in service.heads]
    assert deltas == ["", "", "1", "1", "1", "", ""]
    assert {head["content-type"] for head in service.heads if "delta" in head} == {"application/merge-patch+json"}
    players = [body["players"]["a"] for body in service.sessions["a"].bodies("tick")]
    assert players == [{"hp": 9, "x": x} for x in range(4)] + [None]


async def test_a_difference_that_is_refused_is_sent_again_as_a_whole() -> None:
    async with fake_service(lambda _: 1) as service, Client(service.url) as client:
        session = await client.start("a", delta=True)
        large = {"map": list(range(100))}
        await session.tick(large | {"t": 0})
        service.sessions["a"].state = None
        await session.tick(large | {"t": 1})
        service.step_refusals["a", 3] = ["bad_payload", "bad_payload"]
        with pytest.raises(BadPayloadError):
            await session.tick(large | {"t": 2})
        await session.tick(large | {"t": 3})
    assert [body["t"] for body in service.sessions["a"].bodies("tick")] == [0, 1, 3]
    assert [head.get("delta", "") for head in service.heads] == ["", "", "1", "", "1", "", ""]


async def test_after_a_resume_the_state_is_sent_whole() -> None:
    async with fake_service(lambda _: 1) as service, Client(service.url) as client:
        session = await client.start("a", delta=True)
        large = {"map": list(range(100))}
        for t in range(4):
            if t == 2:
                service.resumed["a"] = 1
            await session.tick(large | {"t": t})
    assert [head.get("delta", "") for head in service.heads] == ["", "", "1", "1", ""]


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
async def test_large_bodies_are_compressed_both_ways(encoding: Any) -> None:
    if encoding == "zstd":
        pytest.importorskip("zstandard")
    large = {"map": list(range(1000))}
    async with fake_service(newest) as service, Client(service.url, compression=encoding) as client:
        session = await client.start("a")
        assert (await session.tick(large)).value == {"action": large}
        (answer,) = await client.steps([Step(session, large)])
        assert not isinstance(answer, StepFailedError)
        assert answer.value == {"action": large}
    assert [head.get("content-encoding") for head in service.heads] == [None, encoding, encoding]
    assert {head["accept-encoding"] for head in service.heads} == {encoding}


async def test_steps_take_the_direct_way_and_come_back_when_it_is_gone() -> None:
    async with fake_service(newest) as port, fake_service(newest) as replica:
        replica.sessions = port.sessions
        port.endpoint = replica.url.removeprefix("http://")
        async with Client(port.url, limits=QUICK, direct=True) as client:
            session = await client.start("a")
            await session.tick({"t": 0})
            assert (port.posts, replica.posts) == (1, 1)
            replica.step_refusals["a", 2] = ["draining"]
            await session.tick({"t": 1})
            assert (port.posts, replica.posts) == (2, 2)
            await session.tick({"t": 2})
            assert (port.posts, replica.posts) == (3, 2)
        async with Client(port.url, limits=QUICK) as client:
            await (await client.start("b")).tick({})
    assert port.sessions["a"].bodies("tick") == [{"t": 0}, {"t": 1}, {"t": 2}]
    assert replica.posts == 2


async def test_a_direct_way_that_nobody_serves_costs_no_step(unused_port: int) -> None:
    async with fake_service(newest) as service, Client(service.url, limits=QUICK, direct=True) as client:
        for endpoint in (f"127.0.0.1:{unused_port}", "nonsense"):
            service.endpoint = endpoint
            assert (await play(client, endpoint.replace(":", "-"), 1))[0]["t"] == 0


async def test_nobody_listening_is_one_clear_error(unused_port: int) -> None:
    async with Client(f"http://127.0.0.1:{unused_port}", limits=IMPATIENT) as client:
        with pytest.raises(ServiceUnreachableError, match=f"no connection to 127.0.0.1:{unused_port}"):
            await client.start("a")


async def test_a_closed_client_takes_no_steps_and_fails_those_under_way() -> None:
    async with fake_service() as service:
        client = Client(service.url, limits=QUICK)
        session: Session = await client.start("a")
        service.silent = True
        call = asyncio.create_task(session.tick({}))
        await service.until(lambda: service.ticks == 1)
        await client.close()
        with pytest.raises(ClientClosedError):
            await call
        with pytest.raises(ClientClosedError):
            await client.start("b")


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({"session": "a", "game": "g"}, "allowed is one of them"),
        ({"agent": "p"}, "of which game"),
        ({"session": "a\r\nkey: x"}, "printable ASCII"),
        ({"purpose": "fun"}, "'fun' is not a valid Purpose"),
    ],
)
async def test_names_that_cannot_be_are_refused(names: dict[str, Any], message: str) -> None:
    client = Client("http://127.0.0.1:1")
    with pytest.raises(ValueError, match=message):
        client.session(**names)


@pytest.mark.parametrize("arguments", [{"secret": "s"}, {"compression": "br"}, {"connections": 0}])
async def test_arguments_that_cannot_be_are_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"secret needs the key|compression is 'br'|at least 1 connection"):
        Client("http://127.0.0.1:1", **arguments)
