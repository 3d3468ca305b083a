import copy
from typing import Any, ClassVar

import pytest

from app.errors import BadPayloadError
from app.types import StepKind
from app.wire.delta import DeltaState
from app.wire.messages_pb2 import Batch, Step
from app.wire.payload import codec_of

START, TICK, STOP, AUTO = StepKind.START, StepKind.TICK, StepKind.STOP, StepKind.AUTO


class JsonAgent:
    codec: ClassVar[str] = "json"


class BytesAgent:
    codec: ClassVar[str] = "bytes"


class ProtoAgent:
    codec: ClassVar[str] = "proto"
    tick_input = Batch
    tick_output = Batch


def test_differences_build_on_the_last_answered_tick() -> None:
    state = DeltaState(codec_of(JsonAgent))
    first = state.whole({"hp": 10, "at": {"x": 1, "y": 2}}, TICK, delta=False)
    state.keep(first)
    second = state.whole({"at": {"x": 5}}, TICK, delta=True)
    assert second == {"hp": 10, "at": {"x": 5, "y": 2}}
    state.keep(second)
    assert state.whole({"hp": 9}, STOP, delta=True) == {"hp": 9, "at": {"x": 5, "y": 2}}


def test_a_step_that_failed_can_be_repeated() -> None:
    state = DeltaState(codec_of(ProtoAgent))
    state.keep(Batch(steps=[Step(session="a"), Step(session="b")]))
    patch = Batch(steps=[Step(session="c")])
    once = state.whole(patch, TICK, delta=True)
    assert once == state.whole(patch, TICK, delta=True) == Batch(steps=[Step(session="c")])


def test_a_whole_body_needs_nothing_kept_and_is_handed_on_as_it_is() -> None:
    body = {"hp": 1}
    assert DeltaState(codec_of(JsonAgent)).whole(body, TICK, delta=False) is body


def test_the_kept_payload_is_not_changed() -> None:
    state = DeltaState(codec_of(JsonAgent))
    first: dict[str, Any] = {"a": {"b": {"c": 1}}, "d": [1, 2]}
    before = copy.deepcopy(first)
    state.keep(first)
    state.whole({"a": {"b": {"c": None}}, "d": None}, TICK, delta=True)
    assert first == before


@pytest.mark.parametrize("agent", [JsonAgent, ProtoAgent, BytesAgent])
def test_a_difference_to_nothing_is_refused(agent: type[object]) -> None:
    state = DeltaState(codec_of(agent))
    with pytest.raises(BadPayloadError, match="the session has answered no whole tick; send it whole"):
        state.whole({}, TICK, delta=True)


@pytest.mark.parametrize("kind", [START, AUTO])
def test_only_a_tick_or_a_stop_is_a_difference(kind: StepKind) -> None:
    state = DeltaState(codec_of(JsonAgent))
    state.keep({"x": 1})
    with pytest.raises(BadPayloadError, match=f"a {kind} carries a difference; allowed for a tick or a stop"):
        state.whole({}, kind, delta=True)


@pytest.mark.parametrize(
    ("agent", "payload"), [(JsonAgent, {"x": [1, {"y": None}]}), (ProtoAgent, Batch(steps=[Step(seq=0)]))]
)
def test_what_is_kept_survives_a_snapshot(agent: type[object], payload: Any) -> None:
    state, restored = DeltaState(codec_of(agent)), DeltaState(codec_of(agent))
    state.keep(payload)
    restored.load(state.save())
    assert restored.whole(type(payload)(), TICK, delta=True) == payload


def test_a_snapshot_without_a_base_restores_none() -> None:
    state = DeltaState(codec_of(BytesAgent))
    state.keep(b"bytes have no differences")
    assert state.save() is None
    state.load(None)
    with pytest.raises(BadPayloadError, match="no whole tick"):
        state.whole(b"", TICK, delta=True)


def test_a_state_that_is_nested_too_deep_to_be_written_is_not_in_the_snapshot() -> None:
    deep: Any = 1
    for _ in range(400):
        deep = {"a": deep}
    state = DeltaState(codec_of(JsonAgent))
    state.keep(deep)
    assert state.save() is None
