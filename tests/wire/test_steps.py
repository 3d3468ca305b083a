import base64
import contextlib
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import AgentError, BadPayloadError, BadRequestError, OverloadedError, StepError
from app.types import Purpose, StepKind, Version
from app.wire.step_batches import MAX_BATCH_STEPS, batch_of, batch_reply
from app.wire.step_fields import MERGE_PATCH, step_of
from app.wire.steps import Credentials, JsonBody, StepReply, StepRequest, body_bytes, parse_json, write_json


def batch(items: Any, **fields: str) -> list[StepRequest]:
    return batch_of({name.replace("_", "-"): value for name, value in fields.items()}, orjson.dumps(items))


def test_a_step_has_all_its_fields() -> None:
    fields = {"session": "s", "step-kind": "start", "purpose": "evaluate", "seq": "0", "deadline-ms": "250"}
    expected = StepRequest("s", StepKind.START, b"body", Purpose.EVALUATE, 0, 250)
    assert step_of(fields, b"body") == expected
    assert step_of({"session": "s"}, b"") == StepRequest("s", StepKind.TICK, b"")


@pytest.mark.parametrize(
    ("kind", "with_session", "without_session"),
    [
        (None, StepKind.TICK, StepKind.AUTO),
        ("", StepKind.TICK, StepKind.AUTO),
        ("tick", StepKind.TICK, StepKind.AUTO),
        ("start", StepKind.START, StepKind.START),
        ("auto", StepKind.AUTO, StepKind.AUTO),
        ("stop", StepKind.STOP, None),
        ("end", StepKind.STOP, None),
    ],
)
def test_kinds_and_what_they_mean_without_a_session(
    kind: str | None, with_session: StepKind, without_session: StepKind | None
) -> None:
    given_kind = {} if kind is None else {"step-kind": kind}
    assert step_of({"session": "s"} | given_kind, b"").kind is with_session
    in_batch = {} if kind is None else {"kind": kind}
    assert batch([{"session": "s"} | in_batch])[0].kind is with_session
    if without_session is None:
        with pytest.raises(BadRequestError, match="a stop needs the session"):
            step_of(given_kind, b"")
    else:
        assert step_of(given_kind, b"").kind is without_session
        assert batch([in_batch])[0].kind is without_session


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("session", "a\nb", r"session is 'a\\nb' of 3 characters; allowed are up to 256, without control characters"),
        ("session", "a\0", "session is"),
        ("session", "\x7f", "session is"),
        ("session", "x" * 257, "of 257 characters; allowed are up to 256"),
        ("step-kind", "tock", "step_kind is 'tock'; allowed are start, tick, stop"),
        ("step-kind", "START", "step_kind is 'START'"),
        ("purpose", "fun", "purpose is 'fun'; allowed are train, evaluate, play"),
        ("purpose", "", "purpose is ''"),
        ("seq", "-1", "seq is '-1'; allowed is a whole number from 0"),
        ("seq", "1.5", "seq is '1.5'"),
        ("seq", "", "seq is ''"),
        ("seq", "²", "seq is '²'"),
        ("seq", "9" * 19, "seq is '9999999999999999999'"),
        ("deadline-ms", "soon", "deadline_ms is 'soon'"),
    ],
)
def test_a_field_that_the_protocol_does_not_know_is_named(field: str, value: str, message: str) -> None:
    with pytest.raises(BadRequestError, match=message):
        step_of({"session": "s", field: value}, b"")


@pytest.mark.parametrize("session", ["x" * 256, "partie é", "鍵" * 256, "a b", "\u200b", "\x80"])
def test_any_other_text_names_a_session(session: str) -> None:
    assert step_of({"session": session}, b"").session == session
    assert batch([{"session": session}])[0].session == session


def test_a_batch_keeps_the_order_of_its_items() -> None:
    items = [
        {"session": "a", "kind": "start", "seq": 0, "body": {"x": [1]}},
        {"session": "b", "body": None},
        {"session": "a", "kind": "tick", "seq": 1, "body": 3},
        {"kind": "start"},
    ]
    assert batch(items) == [
        StepRequest("a", StepKind.START, JsonBody({"x": [1]}), seq=0),
        StepRequest("b", StepKind.TICK, JsonBody(None)),
        StepRequest("a", StepKind.TICK, JsonBody(3), seq=1),
        StepRequest("", StepKind.START, JsonBody(None)),
    ]


def test_purpose_and_deadline_of_the_header_are_the_items_default() -> None:
    items = [{"session": "a"}, {"session": "b", "purpose": "play", "deadline_ms": 9}]
    first, second = batch(items, purpose="evaluate", deadline_ms="100")
    assert (first.purpose, first.deadline_ms) == (Purpose.EVALUATE, 100)
    assert (second.purpose, second.deadline_ms) == (Purpose.PLAY, 9)


def test_a_body_of_bytes_comes_as_base64() -> None:
    encoded = base64.b64encode(b"\x00\xff").decode()
    assert batch([{"session": "a", "body_b64": encoded}])[0].body == b"\x00\xff"
    assert batch([{"session": "a", "body_b64": ""}])[0].body == b""


@pytest.mark.parametrize("body", [b"", b"{}", b"3", b"null", b'"text"'])
def test_a_batch_is_a_list(body: bytes) -> None:
    with pytest.raises(BadPayloadError, match="/steps takes a JSON list of steps, got a "):
        batch_of({}, body)


def test_a_batch_that_is_no_json_is_refused() -> None:
    with pytest.raises(BadPayloadError, match=r"not JSON.*it starts with b'\[1, '"):
        batch_of({}, b"[1, ")


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (3, "a step is an object, got int"),
        (None, "a step is an object, got NoneType"),
        ({"session": 3}, "session and kind are text"),
        ({"session": "a\t"}, r"session is 'a\\t' of 2 characters"),
        ({"session": "é" * 257}, "session is 'é+' of 257 characters"),
        ({"session": "a", "kind": None}, "session and kind are text"),
        ({"session": "a", "kind": "tock"}, "step_kind is 'tock'"),
        ({"kind": "stop"}, "a stop needs the session"),
        ({"session": "a", "seq": -1}, "seq is -1"),
        ({"session": "a", "seq": "1"}, "seq is '1'"),
        ({"session": "a", "seq": True}, "seq is True"),
        ({"session": "a", "seq": 1.0}, r"seq is 1\.0"),
        ({"session": "a", "purpose": "fun"}, "purpose is 'fun'"),
        ({"session": "a", "purpose": 3}, "purpose is '3'"),
        ({"session": "a", "deadline_ms": -5}, "deadline_ms is '-5'"),
        ({"session": "a", "body_b64": "no base64!"}, "body_b64 is not base64"),
        ({"session": "a", "body_b64": "é"}, "body_b64 is not base64"),
        ({"session": "a", "body_b64": 1234}, "body_b64 is a int; allowed is text"),
    ],
)
def test_an_item_that_is_no_step_is_named(item: Any, message: str) -> None:
    with pytest.raises(BadRequestError, match=f"^item 1 of /steps: {message}"):
        batch([{"session": "fine"}, item])


def test_a_batch_has_a_largest_size() -> None:
    assert len(batch([{"session": "a"}] * MAX_BATCH_STEPS)) == MAX_BATCH_STEPS
    with pytest.raises(BadRequestError, match=f"at most {MAX_BATCH_STEPS} steps, got {MAX_BATCH_STEPS + 1}"):
        batch([{"session": "a"}] * (MAX_BATCH_STEPS + 1))


def replies(*answers: StepReply | StepError) -> Any:
    requests = [StepRequest(f"asked-{at}", StepKind.TICK, b"") for at in range(len(answers))]
    return orjson.loads(batch_reply(requests, list(answers)))


def test_answers_stand_in_the_order_of_the_batch() -> None:
    assert replies(
        StepReply("a", b'{"action":1}', 3, Version(1, 2), is_json=True),
        OverloadedError("full"),
        StepReply("b", b"\x00\xff", 1),
        StepReply("c", b"null", 1, resumed_at=7, is_json=True),
    ) == [
        {"session": "a", "body": {"action": 1}},
        {"session": "asked-1", "error": {"code": "overloaded", "message": "full"}},
        {"session": "b", "body_b64": "AP8="},
        {"session": "c", "body": None, "resumed_at": 7},
    ]


def test_a_message_that_is_no_text_is_told_all_the_same() -> None:
    (answer,) = replies(AgentError("x\ud800"))
    assert answer["error"]["message"] == "x?"


@pytest.mark.parametrize("value", [object(), {1: 2}, {"x": {3}}, 10**30, "\ud800"])
def test_an_answer_that_is_no_json_is_the_agents_failure(value: Any) -> None:
    with pytest.raises(AgentError, match=f"answered a {type(value).__name__} that is not JSON"):
        write_json(value)


def test_an_unnamed_start_in_a_batch_is_minted_once_by_its_key() -> None:
    items: list[dict[str, Any]] = [{"kind": "start", "idempotency_key": key} for key in ("a", "a", "b")]
    sessions = [step.session for step in batch_of({}, orjson.dumps(items))]
    assert sessions[0] == sessions[1] == step_of({"step-kind": "start", "idempotency-key": "a"}, b"").session
    assert sessions[2] not in ("", sessions[0])
    with pytest.raises(BadRequestError, match="item 0 of /steps: idempotency_key is a int"):
        batch_of({}, b'[{"kind": "start", "idempotency_key": 3}]')


@pytest.mark.parametrize("kind", ["start", "tick"])
def test_a_start_with_an_idempotency_key_mints_the_same_session_each_time(kind: str) -> None:
    sessions = {step_of({"step-kind": kind, "idempotency-key": key}, b"").session for key in ("a", "a", "b")}
    assert len(sessions) == (2 if kind == "start" else 1)
    assert step_of({"step-kind": kind, "idempotency-key": "a", "session": "own"}, b"").session == "own"


def test_a_step_says_who_asks_and_whether_its_body_is_a_difference() -> None:
    fields = {"session": "s", "key": "k", "time": "17", "token": "t", "content-type": MERGE_PATCH}
    step = step_of(fields, b"{}")
    assert (step.credentials, step.delta) == (Credentials("k", "17", "t"), True)
    plain = step_of({"session": "s", "content-type": "application/json"}, b"{}")
    assert (plain.credentials, plain.delta) == (None, False)
    (item,) = batch_of({"key": "k"}, b'[{"session": "s", "delta": true}]')
    assert (item.credentials, item.delta) == (Credentials("k"), True)


@pytest.mark.parametrize("given", ["Bearer k-1", "bearer  k-1 "])
def test_a_bearer_is_a_key(given: str) -> None:
    assert step_of({"session": "s", "authorization": given}, b"").credentials == Credentials("k-1", "", "")


def test_a_key_comes_before_a_bearer_and_other_schemes_are_none() -> None:
    fields = {"session": "s", "authorization": "Bearer other", "key": "k-1"}
    assert step_of(fields, b"").credentials == Credentials("k-1", "", "")
    assert step_of({"session": "s", "authorization": "Basic azox"}, b"").credentials is None


def test_a_body_is_sent_as_bytes_or_as_json() -> None:
    assert body_bytes(b"\x00") == b"\x00"
    assert body_bytes(JsonBody({"a": [1, None]})) == b'{"a":[1,null]}'


scalars = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats() | st.text(max_size=6)
json_values = scalars | st.lists(scalars, max_size=2) | st.dictionaries(st.text(max_size=3), scalars, max_size=2)
keys = st.sampled_from(["session", "kind", "seq", "body", "body_b64", "purpose", "deadline_ms", "x"])


@given(st.lists(st.dictionaries(keys, json_values, max_size=5) | json_values, max_size=3))
def test_any_json_is_a_batch_or_a_refusal(items: list[Any]) -> None:
    try:
        body = orjson.dumps(items)
    except TypeError:
        return  # Half a surrogate pair is no JSON text.
    with contextlib.suppress(BadRequestError, BadPayloadError):
        assert len(batch_of({}, body)) == len(items)


@given(st.binary(max_size=30))
def test_any_bytes_are_json_or_a_refusal(body: bytes) -> None:
    try:
        value = parse_json(body)
    except BadPayloadError:
        return
    assert value is None or orjson.loads(body) == value


@given(
    st.dictionaries(
        st.sampled_from(["session", "step-kind", "seq", "purpose", "deadline-ms"]),
        st.text(max_size=8) | st.sampled_from(["start", "tick", "0", "train"]),
    )
)
def test_any_fields_are_a_step_or_a_refusal(fields: dict[str, str]) -> None:
    try:
        step = step_of(fields, b"")
    except BadRequestError:
        return
    assert step.session == fields.get("session", "")
    assert step.seq is None or str(step.seq) == fields["seq"].lstrip("0") or step.seq == 0
