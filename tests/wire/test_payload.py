import contextlib
from typing import Any, ClassVar

import pytest
from google.protobuf.struct_pb2 import Struct
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from app.errors import AgentError, BadPayloadError, PluginError
from app.types import StepKind
from app.wire.messages_pb2 import Answer, Batch, Credentials, Step
from app.wire.payload import BytesCodec, JsonCodec, ProtoCodec, codec_of
from app.wire.steps import JsonBody

START, TICK, STOP, AUTO = StepKind.START, StepKind.TICK, StepKind.STOP, StepKind.AUTO


class JsonAgent:
    codec: ClassVar[str] = "json"


class BytesAgent:
    codec: ClassVar[str] = "bytes"


class ProtoAgent:
    codec: ClassVar[str] = "proto"
    tick_input = Step
    tick_output = Answer
    stop_input = Batch


JSON, BYTES, PROTO = codec_of(JsonAgent), codec_of(BytesAgent), codec_of(ProtoAgent)


def test_a_class_declares_its_codec_once() -> None:
    assert (type(JSON), type(BYTES), type(PROTO)) == (JsonCodec, BytesCodec, ProtoCodec)
    assert isinstance(codec_of(object), JsonCodec)
    assert codec_of(ProtoAgent) is PROTO


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"codec": "pickle"}, "Wrong.codec is 'pickle'; allowed are json, bytes, proto"),
        ({"codec": "proto"}, "Wrong.tick_input is None; allowed is a protobuf message class"),
        ({"codec": "proto", "tick_input": Step}, "Wrong.tick_output is None"),
        ({"codec": "proto", "tick_input": Step, "tick_output": Step()}, "Wrong.tick_output is .*; allowed is"),
        ({"codec": "proto", "tick_input": Step, "tick_output": Step, "start_input": dict}, "Wrong.start_input is <cl"),
        ({"options": dict}, "Wrong.options is <class 'dict'>; allowed is a pydantic model class"),
        (
            {"codec": "proto", "tick_input": Step, "tick_output": Step, "start_input": Step, "options": BaseModel},
            "Wrong declares options and start_input; allowed is one of them",
        ),
    ],
)
def test_a_wrong_declaration_is_named(attributes: dict[str, Any], message: str) -> None:
    with pytest.raises(PluginError, match=message):
        codec_of(type("Wrong", (), attributes))


def test_json_is_read_from_text_and_from_what_was_parsed_already() -> None:
    assert JSON.decode(b'{"x": [1, null]}', TICK) == {"x": [1, None]}
    assert JSON.decode(JsonBody({"x": 1}), TICK) == {"x": 1}
    assert JSON.decode(b"", START) is None
    with pytest.raises(BadPayloadError, match="the body is not JSON"):
        JSON.decode(b"\xff", TICK)


def test_bytes_are_left_as_they_came() -> None:
    assert BYTES.decode(b"\x00\xff", TICK) == b"\x00\xff"
    assert BYTES.decode(JsonBody(None), START) == b""
    with pytest.raises(BadPayloadError, match=r"this agent reads bytes, got a JSON dict; send .* as body_b64"):
        BYTES.decode(JsonBody({}), TICK)


@pytest.mark.parametrize("kind", [TICK, AUTO])
def test_messages_are_read_and_written(kind: StepKind) -> None:
    step = Step(session="s", seq=3, body=b"x")
    assert PROTO.decode(step.SerializeToString(), kind) == step
    assert PROTO.decode(b"", kind) == Step()
    assert PROTO.decode(JsonBody(None), kind) == Step()
    answer = Answer(session="s", body=b"y")
    assert PROTO.encode(answer, kind) == answer.SerializeToString()


def test_each_kind_of_step_has_its_own_message_or_is_json() -> None:
    batch = Batch(steps=[Step(session="s")])
    assert PROTO.decode(batch.SerializeToString(), STOP) == batch
    assert PROTO.encode({"won": True}, STOP) == JsonBody({"won": True})
    assert PROTO.decode(b'{"greedy": true}', START) == {"greedy": True}
    assert PROTO.encode(None, START) == JsonBody(None)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"\xff\xff", r"the body of a tick is no sparring\.v1\.Step: .*; got 2 bytes, which begin with ff ff"),
        (Step(session="s").SerializeToString()[:-1], r"no sparring\.v1\.Step: .*; got 2 bytes"),
        (b"\x0a\x02\xff\xff", r"no sparring\.v1\.Step"),  # Text that is not UTF-8.
        (JsonBody({"session": "s"}), r"reads the protobuf message sparring\.v1\.Step, got a JSON dict; send"),
    ],
)
def test_a_body_that_is_no_message_says_what_was_got_and_allowed(body: Any, message: str) -> None:
    with pytest.raises(BadPayloadError, match=message):
        PROTO.decode(body, TICK)


def test_messages_nested_without_end_are_refused_in_time() -> None:
    bomb = b""
    for _ in range(3000):  # A Struct inside a Struct: field 1 is its map, field 5 of a value a Struct again.
        value = b"\x2a" + _varint(len(bomb)) + bomb
        entry = b"\x0a\x01k\x12" + _varint(len(value)) + value
        bomb = b"\x0a" + _varint(len(entry)) + entry
    codec = ProtoCodec({TICK: Struct}, {TICK: Struct})
    with pytest.raises(BadPayloadError, match=r"no google\.protobuf\.Struct"):
        codec.decode(bomb, TICK)


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


@pytest.mark.parametrize("value", [None, {}, [], "", 0, 1.5, True, {"action": [1, {"x": None}]}])
def test_json_answers_are_sent(value: Any) -> None:
    assert JSON.encode(value, TICK) == JsonBody(value)


def test_an_agent_of_bytes_answers_bytes_or_nothing() -> None:
    assert BYTES.encode(b"x", TICK) == b"x"
    assert BYTES.encode(None, START) == b""


@pytest.mark.parametrize(
    ("codec", "answer", "message"),
    [
        (JSON, b"x", r"answered a tick with a bytes; allowed is a JSON value \(dict, list, str"),
        (JSON, Step(), r"with a sparring\.v1\.Step; allowed is a JSON value"),
        (JSON, {1, 2}, "with a set; allowed is a JSON value"),
        (JSON, object(), "with a object; allowed"),
        (BYTES, {"action": 1}, "with a dict; allowed is bytes or None"),
        (BYTES, "text", "with a str; allowed is bytes or None"),
        (PROTO, Step(), r"with a sparring\.v1\.Step; allowed is a message sparring\.v1\.Answer"),
        (PROTO, {"action": 1}, r"with a dict; allowed is a message sparring\.v1\.Answer"),
        (PROTO, None, "with a NoneType; allowed is a message"),
    ],
)
def test_an_answer_of_a_wrong_type_names_both(codec: Any, answer: Any, message: str) -> None:
    with pytest.raises(AgentError, match=f"the agent.* {message}"):
        codec.encode(answer, TICK)


class Options(BaseModel):
    level: int = 1


@pytest.mark.parametrize("base", [JsonAgent, BytesAgent, ProtoAgent])
def test_the_body_of_a_start_fits_the_options_that_the_class_declares(base: type[object]) -> None:
    agent = type("Optional", (base,), {"options": Options})
    assert codec_of(agent).decode(b'{"level": 3}', START) == Options(level=3)
    assert codec_of(agent).decode(b"", START) == Options()
    with pytest.raises(BadPayloadError, match="level is 'high'; allowed is a valid integer"):
        codec_of(agent).decode(b'{"level": "high"}', START)
    assert codec_of(agent).decode(b"", TICK) == codec_of(base).decode(b"", TICK)


def test_each_codec_merges_its_own_kind_of_difference() -> None:
    assert JSON.merge({"a": 1, "b": 2}, {"a": None, "c": 3}) == {"b": 2, "c": 3}
    assert PROTO.merge(Step(session="s", seq=1), Step(seq=2)) == Step(session="s", seq=2)
    assert PROTO.merge({"a": 1}, {"b": 2}) == {"a": 1, "b": 2}  # A kind of step that is JSON.


@pytest.mark.parametrize(
    ("codec", "base", "difference", "message"),
    [
        (BYTES, b"x", b"y", "bytes, which have no differences; send the whole body"),
        (JSON, {"a": 1}, b"y", "a difference between dict and bytes is no JSON"),
        (PROTO, Step(), Credentials(), r"a difference to a sparring\.v1\.Step is one as well, got a .*Credentials"),
        (PROTO, {"a": 1}, Step(), r"between dict and sparring\.v1\.Step is no JSON"),
    ],
)
def test_a_difference_of_a_wrong_kind_is_refused(codec: Any, base: Any, difference: Any, message: str) -> None:
    with pytest.raises(BadPayloadError, match=message):
        codec.merge(base, difference)


@given(st.binary(max_size=40), st.sampled_from([JSON, BYTES, PROTO]), st.sampled_from(list(StepKind)))
def test_any_bytes_are_a_payload_or_a_refusal(body: bytes, codec: Any, kind: StepKind) -> None:
    with contextlib.suppress(BadPayloadError):
        codec.decode(body, kind)


@given(st.from_type(object) | st.binary(max_size=3) | st.dictionaries(st.text(max_size=2), st.integers()))
def test_any_answer_is_sent_or_refused_by_name(answer: object) -> None:
    for codec in (JSON, BYTES, PROTO):
        with contextlib.suppress(AgentError):
            assert isinstance(codec.encode(answer, TICK), bytes | JsonBody)
