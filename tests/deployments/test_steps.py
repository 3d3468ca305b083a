import asyncio
import gzip
from typing import Any

import orjson
import pytest

from app.errors import (
    BadPayloadError,
    BadRequestError,
    BodyTooLargeError,
    OverloadedError,
    StepError,
)
from app.types import Purpose, SessionId, StepKind, Version
from app.wire import messages_pb2 as pb
from app.wire.http import BYTES, JSON, HttpReply, HttpRequest, refusal
from app.wire.http_reader import HttpReader
from app.wire.routes import unserved
from app.wire.steps import StepReply, StepRequest
from deployments.steps import StepService
from tests.sessions.fake_agent import BytesAgent, FakeAgent, Table

MAX_BODY = 100_000


def request(path: str, body: bytes = b"", method: bytes = b"POST", **fields: str) -> HttpRequest:
    return HttpRequest(method, path, {name.replace("_", "-"): value for name, value in fields.items()}, body, True)


class Elsewhere:
    """The other replicas: hold the sessions named ``far…``."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.asked: list[str] = []
        self.gate: asyncio.Event | None = None
        """Every step waits for it."""

    async def __call__(self, request: StepRequest) -> StepReply:
        if request.session in self.table.table or request.kind is StepKind.AUTO:
            return await self.table.table.step(request)
        self.asked.append(request.session)
        if self.gate is not None:
            await self.gate.wait()
        if request.session == "lost":
            raise ConnectionResetError("the directory is away")
        if not request.session.startswith("far"):
            return await self.table.table.step(request)
        return StepReply(request.session, b'"from afar"', 7, Version(1, 2), is_json=True)


async def show(request: HttpRequest) -> HttpReply:
    """Stands for the admin side."""
    return HttpReply(200, b'"anyone"') if request.path == "/healthz" else unserved(request)


async def show_here(request: HttpRequest) -> HttpReply:
    return HttpReply(200, b'"a peer"')


def service(table: Table, forward: Elsewhere | None = None) -> StepService:
    return StepService(forward or table.table.step, show, show_here, MAX_BODY)


def header(reply: HttpReply, name: bytes) -> bytes | None:
    return dict(reply.headers).get(name)


async def batch(answerer: StepService, items: list[dict[str, Any]], **fields: str) -> list[Any]:
    reply = await answerer.answer(request("/steps", orjson.dumps(items), **fields))
    assert (reply.status, reply.content_type) == (200, JSON)
    answers: list[Any] = orjson.loads(reply.body)
    return answers


async def test_a_step_is_answered_with_the_agents_json_and_its_headers() -> None:
    table = Table()
    answerer = service(table)
    reply = await answerer.answer(request("/step", b'{"level": 2}', session="s", step_kind="start", seq="0"))
    assert (reply.status, reply.body, reply.content_type) == (200, b'{"echo":{"level":2}}', JSON)
    assert (header(reply, b"session"), header(reply, b"seq")) == (b"s", b"0")
    table.agent("s").version = Version(1, 57)
    reply = await answerer.answer(request("/step", b"3", session="s", seq="1"))
    assert orjson.loads(reply.body) == {"echo": 3}
    assert header(reply, b"policy_version") == b"1.57"
    assert header(reply, b"seq") == b"1"


async def test_a_step_of_bytes_is_answered_with_bytes() -> None:
    answerer = service(Table(make=BytesAgent))
    await answerer.answer(request("/step", session="s", step_kind="start"))
    reply = await answerer.answer(request("/step", b"\x00\xff", session="s"))
    assert (reply.body, reply.content_type) == (b"\x00\xff", BYTES)
    assert header(reply, b"policy_version") is None


async def test_a_session_id_cannot_smuggle_a_header_in() -> None:
    answerer = service(Table())
    with pytest.raises(BadRequestError, match="without control characters") as caught:
        await answerer.answer(request("/step", session="a\r\nset-cookie: x", step_kind="start"))
    assert b"set-cookie" not in refusal(caught.value).encoded().partition(b"\r\n\r\n")[0]


async def test_a_session_id_is_the_same_one_in_header_and_json_and_leaves_as_utf_8() -> None:
    answerer = service(Table())
    data = "POST /step HTTP/1.1\r\nsession: partie-é鍵\r\nstep_kind: start\r\nContent-Length: 0\r\n\r\n".encode()
    (started,) = HttpReader(100).feed(data)
    assert header(await answerer.answer(started), b"session") == "partie-é鍵".encode()
    (answer,) = await batch(answerer, [{"session": "partie-é鍵", "body": 1}])
    assert (answer["session"], answer["body"]) == ("partie-é鍵", {"echo": 1})


async def test_an_answer_that_is_no_json_is_the_agents_failure() -> None:
    table = Table()
    answerer = service(table)
    await answerer.answer(request("/step", session="s", step_kind="start"))
    table.agent("s").answer = {1, 2}  # type: ignore[assignment]
    with pytest.raises(StepError, match="answered a tick with a set; allowed is a JSON value") as caught:
        await answerer.answer(request("/step", b"1", session="s"))
    assert caught.value.code == "agent_error"


async def test_a_batch_is_answered_in_its_order_and_each_session_in_turn() -> None:
    table = Table()
    items: list[dict[str, Any]] = [
        {"session": "a", "kind": "start"},
        {"session": "b", "kind": "start"},
        {"session": "a", "body": 1},
        {"session": "nobody", "body": 1},
        {"session": "b", "body": 2},
        {"session": "a", "kind": "stop", "body": "over"},
        {"session": "a", "kind": "start"},
        {"session": "a", "body": 9},
        {"kind": "start"},
        {"body": 5},
    ]
    answers = await batch(service(table), items)
    assert [answer.get("body") for answer in answers] == [
        {"echo": None}, {"echo": None}, {"echo": 1}, None, {"echo": 2}, {"echo": "over"}, {"echo": None}, {"echo": 9},
        {"echo": None}, {"echo": 5},
    ]  # fmt: skip
    assert answers[3]["error"]["code"] == "session_unknown"
    assert [answer["session"] for answer in answers[:8]] == ["a", "b", "a", "nobody", "b", "a", "a", "a"]
    assert answers[8]["session"] == "minted-1"
    assert table.agent("a").ticks == [9]


async def test_a_batch_may_be_a_protobuf_message_and_is_answered_by_one() -> None:
    table = Table()
    answerer = service(table)
    frame = pb.Batch(
        steps=[
            pb.Step(session="a", kind=pb.KIND_START),
            pb.Step(session="b", kind=pb.KIND_START, purpose=pb.PURPOSE_PLAY),
            pb.Step(session="a", body=b"1"),
            pb.Step(session="nobody", body=b"2"),
        ]
    )
    asked = request("/steps", frame.SerializeToString(), content_type="application/x-protobuf", purpose="evaluate")
    reply = await answerer.answer(asked)
    assert (reply.status, reply.content_type) == (200, b"application/x-protobuf")
    answers = pb.AnswerBatch.FromString(reply.body).answers
    assert [answer.body for answer in answers] == [b'{"echo":null}', b'{"echo":null}', b'{"echo":1}', b""]
    assert answers[3].error.code == "session_unknown"
    assert [table.agent(name).purpose for name in "ab"] == [Purpose.EVALUATE, Purpose.PLAY]


async def test_a_body_that_is_no_protobuf_batch_runs_nothing() -> None:
    table = Table()
    with pytest.raises(BadPayloadError, match="no Batch"):
        await service(table).answer(request("/steps", b"\xff[]", content_type="application/protobuf"))
    assert table.made == []


async def test_the_headers_purpose_is_the_items_default() -> None:
    table = Table()
    items = [{"session": "a", "kind": "start"}, {"session": "b", "kind": "start", "purpose": "play"}]
    await batch(service(table), items, purpose="evaluate")
    assert (table.agent("a").purpose, table.agent("b").purpose) == (Purpose.EVALUATE, Purpose.PLAY)


async def test_one_bad_answer_does_not_spoil_the_batch() -> None:
    failures: dict[SessionId, Any] = {"unserialisable": object(), "refused": BadPayloadError("no"), "bug": KeyError(1)}

    def make(session: SessionId, purpose: Purpose) -> FakeAgent:
        agent = FakeAgent(session, purpose)
        failure = failures.get(session)
        if isinstance(failure, Exception):
            agent.failure = failure
        elif failure is not None:
            agent.answer = failure
        return agent

    items = [{"session": name, "kind": "auto", "body": 1} for name in ("good", *failures, "fine")]
    items.insert(4, {"session": "lost", "body": 1})
    answers = await batch(service(table := Table(make=make), Elsewhere(table)), items)
    codes = [answer.get("error", {}).get("code") for answer in answers]
    assert codes == [None, "agent_error", "bad_payload", "agent_error", "agent_error", None]
    assert "ConnectionResetError" in answers[4]["error"]["message"]


async def test_a_batch_that_is_malformed_runs_nothing() -> None:
    table = Table()
    with pytest.raises(BadRequestError, match="item 1"):
        await batch(service(table), [{"session": "a", "kind": "start"}, {"session": "a", "kind": "tock"}])  # type: ignore[list-item]
    assert table.made == []


async def test_a_step_of_a_session_held_elsewhere_is_forwarded_once() -> None:
    table = Table()
    elsewhere = Elsewhere(table)
    answerer = service(table, elsewhere)
    reply = await answerer.answer(request("/step", b"1", session="far", seq="7"))
    assert orjson.loads(reply.body) == "from afar"
    assert (header(reply, b"seq"), header(reply, b"policy_version")) == (b"7", b"1.2")
    with pytest.raises(BadRequestError, match="takes steps on links"):
        await answerer.answer_peer(request("/step", b"1", session="far"))
    assert elsewhere.asked == ["far"]


async def test_steps_of_one_session_are_forwarded_one_by_one_and_sessions_side_by_side() -> None:
    elsewhere = Elsewhere(table := Table())
    elsewhere.gate = asyncio.Event()
    items = [{"session": session, "body": number} for session in ("far-a", "far-b") for number in (1, 2)]
    task = asyncio.create_task(batch(service(table, elsewhere), items))
    for _ in range(10):
        await asyncio.sleep(0)
    assert elsewhere.asked == ["far-a", "far-b"]
    elsewhere.gate.set()
    assert [answer["session"] for answer in await task] == ["far-a", "far-a", "far-b", "far-b"]
    assert sorted(elsewhere.asked) == ["far-a", "far-a", "far-b", "far-b"]


async def test_a_session_of_our_own_is_not_asked_about_elsewhere() -> None:
    table = Table()
    elsewhere = Elsewhere(table)
    answerer = service(table, elsewhere)
    await answerer.answer(request("/step", session="near", step_kind="start"))
    await answerer.answer(request("/step", b"1", session="near"))
    await answerer.answer(request("/step", b"1", step_kind="auto"))
    assert elsewhere.asked == ["near"]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        (b"GET", "/", 404),
        (b"POST", "/step/", 404),
        (b"GET", "/step", 405),
        (b"PUT", "/step", 405),
        (b"POST", "/status", 405),
        (b"OPTIONS", "/steps", 204),
        (b"HEAD", "/healthz", 200),
    ],
)
async def test_what_is_not_served_says_so(method: bytes, path: str, status: int) -> None:
    assert (await service(Table()).answer(request(path, method=method))).status == status


async def test_what_is_no_step_is_the_admin_sides_and_a_peer_is_told_this_replicas_part() -> None:
    asked = request("/healthz", method=b"GET")
    assert (await service(Table()).answer(asked)).body == b'"anyone"'
    assert (await service(Table()).answer_peer(asked)).body == b'"a peer"'


@pytest.mark.parametrize("path", ["/step", "/steps"])
async def test_a_client_of_another_protocol_is_refused(path: str) -> None:
    answerer = service(Table())
    with pytest.raises(StepError, match="the client speaks protocol 2, the service 1") as caught:
        await answerer.answer(request(path, b"[]", protocol="2"))
    assert (caught.value.code, caught.value.status) == ("protocol_version", 426)
    with pytest.raises(BadRequestError, match="protocol is 'one'"):
        await answerer.answer(request(path, b"[]", protocol="one"))
    assert (await answerer.answer(request("/steps", b"[]", protocol="1"))).status == 200


async def test_a_full_table_is_told_to_the_item_that_found_it_full() -> None:
    table = Table(max_games=1)
    answers = await batch(service(table), [{"session": "a", "kind": "start"}, {"session": "b", "kind": "start"}])
    assert answers[1]["error"]["code"] == OverloadedError.code
    assert table.table.sessions.keys() == {"a"}


async def test_a_packed_body_is_unpacked_up_to_the_limit_and_the_reply_packed_where_that_is_accepted() -> None:
    answerer = service(Table())
    await answerer.answer(request("/step", session="s", step_kind="start"))
    packed = gzip.compress(orjson.dumps("x" * 5_000))
    reply = await answerer.answer(
        request("/step", packed, session="s", content_encoding="gzip", accept_encoding="gzip")
    )
    assert header(reply, b"Content-Encoding") == b"gzip"
    assert orjson.loads(gzip.decompress(reply.body)) == {"echo": "x" * 5_000}
    plain = await answerer.answer(request("/step", packed, session="s", content_encoding="gzip"))
    assert orjson.loads(plain.body) == {"echo": "x" * 5_000}
    bomb = gzip.compress(bytes(MAX_BODY + 1))
    with pytest.raises(BodyTooLargeError):
        await answerer.answer(request("/step", bomb, session="s", content_encoding="gzip"))
    with pytest.raises(BadRequestError, match="content-encoding is 'br'"):
        await answerer.answer(request("/step", packed, session="s", content_encoding="br"))
