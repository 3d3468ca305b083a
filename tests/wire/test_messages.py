from pathlib import Path

import pytest
from grpc_tools import protoc
from hypothesis import given
from hypothesis import strategies as st

from app.errors import BadPayloadError, BadRequestError, OverloadedError, ProtocolVersionError, StepError
from app.types import Purpose, StepKind, Version
from app.wire import messages_pb2 as pb
from app.wire.messages import (
    NativeRequest,
    RefusedRequestError,
    answer_batch,
    batch_message,
    error_message,
    read_batch,
    read_request,
    reply_message,
)
from app.wire.step_batches import MAX_BATCH_STEPS
from app.wire.step_fields import PROTOCOL
from app.wire.steps import Credentials, StepReply, StepRequest

ROOT = Path(__file__).parents[2]
SOURCE = "app/wire/messages.proto"


def step(**fields: object) -> bytes:
    return pb.Request(step=pb.Step(**fields), request_id=7).SerializeToString()  # type: ignore[arg-type]


def only(payload: bytes) -> StepRequest:
    request = read_request(payload)
    assert isinstance(request.content, StepRequest)
    return request.content


def test_the_generated_module_is_what_the_compiler_makes_of_the_messages(tmp_path: Path) -> None:
    assert protoc.main(["protoc", f"-I{ROOT}", f"--python_out={tmp_path}", f"--pyi_out={tmp_path}", SOURCE]) == 0
    for name in ("messages_pb2.py", "messages_pb2.pyi"):
        assert (tmp_path / "app/wire" / name).read_text() == (ROOT / "app/wire" / name).read_text()


def test_a_step_has_all_fields_of_the_protocol() -> None:
    payload = pb.Request(
        step=pb.Step(
            session="s",
            kind=pb.KIND_STOP,
            seq=0,
            body=b"b",
            deadline_ms=50,
            purpose=pb.PURPOSE_EVALUATE,
            delta=True,
        ),
        request_id=2**64 - 1,
        protocol=PROTOCOL,
        credentials=pb.Credentials(key="k", time="1", token="t"),  # noqa: S106  # A test.
    ).SerializeToString()
    wanted = StepRequest("s", StepKind.STOP, b"b", Purpose.EVALUATE, 0, 50, Credentials("k", "1", "t"), True)
    assert read_request(payload) == NativeRequest(2**64 - 1, wanted)


def test_what_is_left_out_has_its_default() -> None:
    assert only(step(session="s")) == StepRequest("s", StepKind.TICK, b"")


def test_kinds_and_purposes_have_the_numbers_of_their_names() -> None:
    for kind in StepKind:
        assert only(step(session="s", kind=pb.Kind.Value(f"KIND_{kind.name}"))).kind is kind
    for purpose in Purpose:
        assert only(step(session="s", purpose=pb.Purpose.Value(f"PURPOSE_{purpose.name}"))).purpose is purpose


def test_a_tick_without_a_session_is_stateless_and_a_start_is_minted_once() -> None:
    assert only(step()).kind is StepKind.AUTO
    first, second = (only(step(kind=pb.KIND_START, idempotency_key="once")) for _ in range(2))
    assert first.session == second.session != ""
    assert only(step(kind=pb.KIND_START)).session == ""


def test_a_batch_is_read_in_its_order_and_shares_who_asks() -> None:
    batch = pb.Batch(steps=[pb.Step(session="a", seq=3), pb.Step(session="b", kind=pb.KIND_START)])
    payload = pb.Request(batch=batch, credentials=pb.Credentials(key="k")).SerializeToString()
    wanted = [
        StepRequest("a", StepKind.TICK, b"", seq=3, credentials=Credentials("k")),
        StepRequest("b", StepKind.START, b"", credentials=Credentials("k")),
    ]
    assert read_request(payload) == NativeRequest(0, wanted)
    assert read_batch(batch.SerializeToString(), Credentials("k")) == wanted


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        (pb.Request(request_id=7), "neither step nor batch"),
        (pb.Request(step=pb.Step(session="s", kind=9), request_id=7), "kind is 9"),  # type: ignore[arg-type]
        (pb.Request(step=pb.Step(session="s", purpose=9), request_id=7), "purpose 9"),  # type: ignore[arg-type]
        (pb.Request(step=pb.Step(session="a\r"), request_id=7), "session is .* of 2 characters"),
        (pb.Request(step=pb.Step(session="x" * 257), request_id=7), "allowed are up to 256"),
        (pb.Request(step=pb.Step(session="s", seq=2**63), request_id=7), "seq is 9223372036854775808"),
        (pb.Request(step=pb.Step(kind=pb.KIND_STOP), request_id=7), "a stop needs the session"),
        (
            pb.Request(batch=pb.Batch(steps=[pb.Step(), pb.Step(kind=pb.KIND_STOP)]), request_id=7),
            "item 1 of the batch",
        ),
        (pb.Request(batch=pb.Batch(steps=[pb.Step()] * (MAX_BATCH_STEPS + 1)), request_id=7), "at most 4096 steps"),
    ],
)
def test_what_cannot_be_done_is_refused_by_its_number(payload: pb.Request, message: str) -> None:
    with pytest.raises(RefusedRequestError, match=message) as caught:
        read_request(payload.SerializeToString())
    assert caught.value.request_id == 7
    assert isinstance(caught.value.error, BadRequestError)


def test_another_protocol_version_is_refused_and_both_are_named() -> None:
    with pytest.raises(RefusedRequestError, match="the client speaks protocol 2, the service 1") as caught:
        read_request(pb.Request(step=pb.Step(), request_id=3, protocol=2).SerializeToString())
    assert isinstance(caught.value.error, ProtocolVersionError)


def test_an_answer_has_all_that_the_agent_and_the_game_tell() -> None:
    reply = pb.Reply.FromString(
        reply_message(
            9, StepReply("s", b'{"action":1}', 4, is_json=True, version=Version(1, 2), resumed_at=0, endpoint="h:1")
        )
    )
    assert (reply.request_id, reply.protocol, reply.WhichOneof("content")) == (9, PROTOCOL, "answer")
    answer = reply.answer
    assert (answer.session, answer.seq, answer.body, answer.json) == ("s", 4, b'{"action":1}', True)
    assert (answer.policy_version, answer.resumed_at, answer.endpoint) == ("1.2", 0, "h:1")
    assert answer.HasField("resumed_at")
    plain = pb.Reply.FromString(reply_message(9, StepReply("s", b"\x00", 4))).answer
    assert (plain.body, plain.json, plain.policy_version, plain.HasField("resumed_at")) == (b"\x00", False, "", False)


def test_an_error_has_its_code_and_when_to_come_back() -> None:
    for payload, field in (
        (reply_message(9, OverloadedError("full")), "answer"),
        (error_message(9, OverloadedError("full")), "error"),
    ):
        reply = pb.Reply.FromString(payload)
        assert (reply.request_id, reply.WhichOneof("content")) == (9, field)
        error = reply.answer.error if field == "answer" else reply.error
        assert (error.code, error.message, error.retry_after_s) == ("overloaded", "full", 1)


def test_a_batch_is_answered_in_its_order_and_each_item_has_its_own_fate() -> None:
    requests = [StepRequest(name, StepKind.TICK, b"") for name in "abc"]
    answers: list[StepReply | StepError] = [
        StepReply("a", b"1", 1),
        BadPayloadError("half \ud800 a pair"),
        StepReply("c", b"3", 1, is_json=True),
    ]
    reply = pb.Reply.FromString(batch_message(5, requests, answers))
    assert [answer.session for answer in reply.batch.answers] == ["a", "b", "c"]
    assert [answer.error.code for answer in reply.batch.answers] == ["", "bad_payload", ""]
    assert reply.batch.answers[1].error.message == "half ? a pair"
    assert answer_batch(requests, answers) == reply.batch.SerializeToString()
    assert pb.Reply.FromString(batch_message(5, [], [])).WhichOneof("content") == "batch"


@given(st.binary(max_size=60) | st.builds(lambda cut: step(session="sss", body=b"body")[:cut], st.integers(0, 18)))
def test_bytes_are_a_request_or_an_error_of_ours(payload: bytes) -> None:
    try:
        request = read_request(payload)
    except (StepError, RefusedRequestError):
        return
    assert isinstance(request, NativeRequest)
