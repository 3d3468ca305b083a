"""The C++ client goes on with its games through faults; no step is played twice."""

import asyncio
import struct
from pathlib import Path

import pytest

from app.wire.messages_pb2 import KIND_TICK, Answer, Error, Reply, Request

from .fake_service import FINE, WAIT_S, FakeService, Fault, framed
from .shell import Shell

pytestmark = pytest.mark.cpp


def bodies(service: FakeService, session: str) -> list[bytes]:
    return [body for kind, body in service.sessions[session].steps if kind == KIND_TICK]


@pytest.mark.parametrize("fault", [Fault(cut_before=True), Fault(cut_after=True)], ids=["before", "after"])
async def test_a_step_is_played_once_when_its_connection_breaks(
    program: Path, service: FakeService, fault: Fault
) -> None:
    async with Shell(program, port=service.port) as shell:
        await shell.do("start s game - 1 play")
        service.fault = lambda number, _: fault if number == 2 else FINE
        assert [(await shell.do(f"tick s {body}")).text for body in "abc"] == ["a", "b", "c"]
        stats = await shell.stats()
    assert bodies(service, "game") == [b"a", b"b", b"c"]
    assert (stats["connects"], stats["lost"], stats["resent"]) == (2, 1, 1)


async def test_all_steps_under_way_survive_a_broken_connection(program: Path, service: FakeService) -> None:
    async with Shell(program, port=service.port) as shell:
        for number in range(20):
            await shell.do(f"start s{number} game{number} - 8 play")
        service.fault = lambda number, _: Fault(cut_after=number == 60)
        for tick in range(8):
            for number in range(20):
                shell.send(f"later s{number} {tick}")
        lines = await shell.lines(160)
    assert {line.code for line in lines} == {""}
    for number in range(20):
        assert [line.text for line in lines if line.name == f"s{number}"] == list("01234567")
        assert bodies(service, f"game{number}") == [b"%d" % tick for tick in range(8)]


async def test_repeated_steps_go_one_behind_another_and_new_ones_behind_them(
    program: Path, service: FakeService
) -> None:
    async with Shell(program, port=service.port, longest_wait_ms=50) as shell:
        await shell.do("start s game - 8 play")
        service.fault = lambda *_: Fault(cut_before=True)
        for tick in range(4):
            shell.send(f"later s {tick}")
        await service.until(8)  # The start, four steps or fewer, and then repeated ones.
        for tick in range(4, 8):
            shell.send(f"later s {tick}")
        await service.until(14)
        service.fault = lambda *_: FINE
        cut = len(service.requests)
        assert [line.text for line in await shell.lines(8)] == list("01234567")
    assert max(request.step.seq for request in service.requests[:cut]) <= 4
    assert [request.step.seq for request in service.requests[cut:]] == [1, 2, 3, 4, 5, 6, 7, 8]


async def test_dropped_and_cut_replies_lose_no_game(program: Path, service: FakeService) -> None:
    """One reply in ten is dropped, one connection in fifty requests cut."""
    async with Shell(program, port=service.port, request_ms=150, longest_wait_ms=20) as shell:
        for number in range(5):
            await shell.do(f"start s{number} game{number} - 1 play")
        service.fault = lambda number, _: Fault(silent=number % 10 == 0, cut_after=number % 50 == 49)
        for tick in range(20):
            for number in range(5):
                shell.send(f"later s{number} {tick}")
            assert {line.code for line in await shell.lines(5)} == {""}
    assert all(bodies(service, f"game{number}") == [b"%d" % tick for tick in range(20)] for number in range(5))


async def test_a_service_that_is_away_is_waited_for(program: Path, service: FakeService) -> None:
    async with Shell(program, port=service.port, longest_wait_ms=50) as shell:
        await shell.do("start s game - 1 play")
        service.turn_away = 5
        service.cut_all()
        assert (await shell.do("tick s x")).text == "x"
        assert (await shell.stats())["connects"] >= 2
    assert len(service.connections) == 7


async def test_nobody_there_is_an_error_that_says_where(program: Path, unused_port: int) -> None:
    async with Shell(program, port=unused_port, step_ms=300) as shell:
        line = await shell.do("start s game - 1 play")
    assert line.code == "unreachable"
    assert f"no connection to 127.0.0.1:{unused_port}" in line.text


@pytest.mark.parametrize("code", ["overloaded", "draining", "quota_of_tomorrow"])
async def test_a_refusal_that_passes_is_waited_out(program: Path, service: FakeService, code: str) -> None:
    async with Shell(program, port=service.port) as shell:
        service.fault = lambda number, _: Fault(code=code, retry_after_s=1) if number == 1 else FINE
        began_s = asyncio.get_running_loop().time()
        assert (await shell.do("start s game - 1 play")).code == ""
        assert asyncio.get_running_loop().time() - began_s > 1
        assert (await shell.do("tick s x")).seq == 1
    assert len(service.connections) == (2 if code == "draining" else 1)  # Another one may reach another replica.


async def test_a_refusal_that_lasts_is_the_answer(program: Path, service: FakeService) -> None:
    service.fault = lambda _, __: Fault(code="overloaded")
    async with Shell(program, port=service.port, step_ms=500) as shell:
        assert (await shell.do("start s game - 1 play")).code == "overloaded"


async def test_pipelined_steps_wait_for_one_that_is_refused_for_a_while(program: Path, service: FakeService) -> None:
    async with Shell(program, port=service.port) as shell:
        await shell.do("start s game - 3 play")
        service.fault = lambda number, _: Fault(code="overloaded", retry_after_s=2) if number == 2 else FINE
        for body in "abc":
            shell.send(f"later s {body}")
        assert [(line.seq, line.text) for line in await shell.lines(3)] == [(1, "a"), (2, "b"), (3, "c")]
    assert bodies(service, "game") == [b"a", b"b", b"c"]


async def test_games_go_on_over_the_old_connection_while_no_new_one_can_be_made(
    program: Path, service: FakeService
) -> None:
    async with Shell(program, port=service.port, longest_wait_ms=50, step_ms=2500) as shell:
        await shell.do("start s game - 1 play")
        await service.refuse_connections()
        service.refuse = lambda step: "draining" if step.session == "late" else ""
        shell.send("start t late - 1 play")
        assert (await shell.line()).code in ("draining", "unreachable")
        assert (await shell.do("tick s x")).text == "x"


async def test_a_game_that_was_restored_says_where_it_goes_on(program: Path, service: FakeService) -> None:
    async with Shell(program, port=service.port) as shell:
        await shell.do("start s game - 1 play")
        for body in "abcd":
            await shell.do(f"tick s {body}")
        played = service.sessions["game"]
        played.seq, played.resumed_at = 2, 2  # The replica is lost, and with it what came after its snapshot.
        service.cut_all()
        line = await shell.do("tick s e")
        assert (line.seq, line.resumed_at, line.text) == (5, 2, "e")
        after = await shell.do("tick s f")
        assert (after.seq, after.resumed_at) == (6, None)


@pytest.mark.parametrize("code", ["session_lost", "session_unknown", "bad_payload", "agent_error", "of_tomorrow"])
async def test_other_refusals_are_the_answer_and_the_number_is_used_again(
    program: Path, service: FakeService, code: str
) -> None:
    async with Shell(program, port=service.port) as shell:
        await shell.do("start s game - 1 play")
        service.fault = lambda number, _: Fault(code=code) if number == 2 else FINE
        refused = await shell.do("tick s x")
        assert (refused.code, refused.text) == (code, "by script")
        assert (await shell.do("tick s y")).seq == 1


async def test_a_step_that_was_late_is_settled_before_the_next(program: Path, service: FakeService) -> None:
    async with Shell(program, port=service.port, request_ms=100, step_ms=1500) as shell:
        await shell.do("start s game - 1 play")
        service.fault = lambda _, request: Fault(silent=request.step.body == b"a")
        assert (await shell.do("tick s a")).code in ("timed_out", "unreachable")
        service.fault = lambda _, __: FINE
        line = await shell.do("tick s b")
        assert (line.seq, line.text) == (2, "b")
    assert bodies(service, "game") == [b"a", b"b"]


async def test_a_deadline_that_passed_before_the_step_was_played_plays_it_late(
    program: Path, service: FakeService
) -> None:
    async with Shell(program, port=service.port) as shell:
        await shell.do("start s game - 1 play")
        service.fault = lambda number, _: Fault(code="deadline_exceeded") if number == 2 else FINE
        assert (await shell.do("hurry s 5 a")).code == "deadline_exceeded"
        assert service.requests[-1].step.deadline_ms == 5
        assert (await shell.do("tick s b")).text == "b"
    assert bodies(service, "game") == [b"a", b"b"]


@pytest.mark.parametrize(
    "raw",
    [
        struct.pack(">I", 0),
        struct.pack(">I", 129 * 2**20),
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        framed(b"\xff\xff\xff"),
        framed(Reply(request_id=99, answer=Answer()).SerializeToString()),
        framed(Reply(request_id=2).SerializeToString()),
        framed(Reply(request_id=2, protocol=1, batch={"answers": [Answer()]}).SerializeToString()),
        framed(Reply(error=Error(code="bad_request")).SerializeToString()),
    ],
    ids=["size 0", "size too large", "http", "no protobuf", "never asked", "no content", "batch", "of no request"],
)
async def test_a_malformed_reply_costs_the_connection_and_not_the_game(
    program: Path, service: FakeService, raw: bytes
) -> None:
    async with Shell(program, port=service.port) as shell:
        await shell.do("start s game - 1 play")
        service.fault = lambda number, _: Fault(raw=raw) if number == 2 else FINE
        assert (await shell.do("tick s x")).text == "x"
        assert (await shell.stats())["lost"] == 1
    assert bodies(service, "game") == [b"x"]


async def test_a_body_over_the_services_limit_fails_and_the_others_go_on(program: Path, service: FakeService) -> None:
    refusal = framed(Reply(error=Error(code="body_too_large", message="at most 1 MB")).SerializeToString())
    async with Shell(program, port=service.port) as shell:
        await shell.do("start s game - 1 play")
        await shell.do("start t other - 1 play")
        service.fault = lambda _, request: (
            Fault(raw=refusal)
            if len(request.step.body) > 99
            else Fault(delay_s=1.0 if len(service.connections) == 1 else 0)
        )
        shell.send("later t small")
        shell.send("later s " + 100 * "x")
        refused, answered = await shell.lines(2)
        assert (refused.name, refused.code, refused.text) == ("s", "body_too_large", "at most 1 MB")
        assert (answered.name, answered.text) == ("t", "small")
        assert (await shell.do("tick s small")).seq == 1


async def test_a_reply_in_pieces_and_two_in_one_are_read(program: Path, service: FakeService) -> None:
    async with Shell(program, port=service.port) as shell:
        await shell.do("start s game - 2 play")
        whole = b"".join(
            framed(Reply(request_id=number, answer=Answer(seq=number - 1, body=b"x")).SerializeToString())
            for number in (2, 3)
        )
        service.fault = lambda _, __: Fault(silent=True)
        shell.send("later s a")
        shell.send("later s b")
        await service.until(3)
        writer = service.connections[0]
        for at in range(len(whole) - 20):
            writer.write(whole[at : at + 1])
            await writer.drain()
            await asyncio.sleep(0)
        writer.write(whole[-20:])
        assert [line.seq for line in await shell.lines(2)] == [1, 2]


async def test_a_late_reply_is_dropped_and_counted(program: Path, service: FakeService) -> None:
    repeated = asyncio.Event()

    def fault(number: int, request: Request) -> Fault:
        if number == 3:
            return Fault(held=repeated)
        if request.step.body == b"slow":
            repeated.set()
        return FINE

    async with Shell(program, port=service.port, request_ms=6000) as shell:
        await shell.do("start s game - 1 play")
        await shell.do("start t other - 1 play")
        service.fault = fault
        shell.send("later s slow")
        await service.until(3)  # Else a tick of the other session may share its frame, and its delay.
        codes = set()
        async with asyncio.timeout(WAIT_S):
            while (stats := await shell.stats())["late_replies"] == 0:
                shell.send("tick t x")  # The connection is not silent, so it is kept.
                codes.add((await shell.line()).code)
        codes.add((await shell.line()).code)  # One of the lines was that of the repeated step.
    assert (stats["late_replies"], stats["lost"]) == (1, 0)
    assert stats["resent"] >= 1
    assert codes == {""}


async def test_another_protocol_is_an_error_that_names_both(program: Path, service: FakeService) -> None:
    service.protocol = 2
    async with Shell(program, port=service.port) as shell:
        line = await shell.do("start s game - 1 play")
    assert (line.code, line.text) == ("protocol_version", "the client speaks protocol 1, the service 2")


async def test_what_is_under_way_fails_when_the_client_is_closed(program: Path, service: FakeService) -> None:
    async with Shell(program, port=service.port) as shell:
        await shell.do("start s game - 2 play")
        service.fault = lambda _, __: Fault(silent=True)
        shell.send("later s a")
        shell.send("later s b")
        await service.until(3)
        shell.send("quit")
        assert [line.code for line in await shell.lines(2)] == ["closed", "closed"]


async def test_more_steps_than_a_connection_takes_wait_in_the_client(program: Path, service: FakeService) -> None:
    most = 0
    under_way: set[int] = set()

    def fault(number: int, request: Request) -> Fault:
        nonlocal most
        under_way.add(number)
        most = max(most, len(under_way))
        asyncio.get_running_loop().call_later(0.01, under_way.discard, number)
        return Fault(delay_s=0.02)

    async with Shell(program, port=service.port, max_in_flight=4) as shell:
        for number in range(20):
            await shell.do(f"start s{number} game{number} - 1 play")
        service.fault = fault
        for number in range(20):
            shell.send(f"later s{number} x")
        assert {line.code for line in await shell.lines(20)} == {""}
    assert most <= 4
