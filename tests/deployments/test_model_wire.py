import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from app.errors import (
    BadPayloadError,
    BodyTooLargeError,
    ModelMismatchError,
    OverloadedError,
    SparringError,
    UnauthorizedError,
)
from app.models.distributions.categorical import Categorical
from app.models.engine import Answer, RowFailure
from app.models.spec import ArraySpec, ModelSpec
from app.models.waiting import ALWAYS, Within
from app.types import Version
from deployments.model_wire import ModelCall, ModelCallReader, ModelReply, ModelReplyReader, ModelWire

SPEC = ModelSpec(
    {"map": ArraySpec((2, 3), "uint8"), "units": (ArraySpec((), "bool"), ArraySpec((5,), "float32"))},
    (Categorical(2), Categorical(3)),
    {"h": ArraySpec((4,), "float64")},
)
WIRE = ModelWire(SPEC, "secret")


def leaves(specs: tuple[ArraySpec, ...], rows: int, seed: int) -> list[NDArray[np.generic]]:
    source = np.random.default_rng(seed)
    return [source.integers(0, 2, (rows, *spec.shape)).astype(spec.dtype) for spec in specs]


def same(one: list[NDArray[np.generic]], other: list[NDArray[np.generic]]) -> bool:
    return all(
        a.dtype == b.dtype and a.shape == b.shape and bool(np.array_equal(a, b))
        for a, b in zip(one, other, strict=True)
    )


def fed(reader: ModelCallReader | ModelReplyReader, data: bytes, piece: int) -> list[ModelCall | ModelReply | None]:
    return [found for at in range(0, len(data), piece) for found in reader.feed(data[at : at + piece])]


@given(
    rows=st.integers(1, 9),
    piece=st.integers(1, 400),
    version=st.none() | st.builds(Version, st.integers(0, 2**40), st.integers(0, 2**40)),
    seed=st.integers(0, 99),
)
def test_questions_and_answers_arrive_as_they_were_sent(
    rows: int, piece: int, version: Version | None, seed: int
) -> None:
    inputs, states = leaves(SPEC.inputs.leaves, rows, seed), leaves(SPEC.states.leaves, rows, seed + 1)
    sent = ModelCall(7, inputs, states, version, Within(0.25, 1.5))
    reader = ModelCallReader(WIRE)
    greeting, first, second = fed(reader, WIRE.greeting() + WIRE.call(sent) + WIRE.call(sent), piece)
    assert greeting is None
    for got in (first, second):
        assert isinstance(got, ModelCall)
        assert (got.number, got.version, got.within) == (7, version, sent.within)
        assert same(got.inputs, inputs) and same(got.states, states)
        assert all(leaf.flags.writeable and leaf.flags.aligned for leaf in got.inputs)
    answer = Answer(leaves(SPEC.answers.leaves, rows, seed), states, version or Version(0, 0))
    (reply,) = fed(ModelReplyReader(WIRE), WIRE.reply(ModelReply(8, answer, 12)), piece)
    assert isinstance(reply, ModelReply) and isinstance(reply.answer, Answer)
    assert (reply.number, reply.waiting_rows, reply.answer.version) == (8, 12, answer.version)
    assert same(reply.answer.outputs, answer.outputs) and same(reply.answer.states, states)


def reply_with(failures: tuple[RowFailure, ...], rows: int = 3) -> bytes:
    states = leaves(SPEC.states.leaves, rows, 1)
    answer = Answer(leaves(SPEC.answers.leaves, rows, 0), states, Version(1, 2), failures)
    return WIRE.reply(ModelReply(8, answer, 0))


def test_rows_that_failed_arrive_by_their_number_with_what_was_raised() -> None:
    sent = (
        RowFailure(0, "IndexError: no"),
        RowFailure(1, "ValueError: " + "x" * 5000),
        RowFailure(2, "IndexError: no"),
    )
    (reply,) = fed(ModelReplyReader(WIRE), reply_with(sent), 50)
    assert isinstance(reply, ModelReply) and isinstance(reply.answer, Answer)
    assert reply.answer.failures == (sent[0], RowFailure(1, sent[1].error[:1024]), sent[2])


@pytest.mark.parametrize("row", [-1, 3])
def test_a_failure_of_a_row_that_is_none_of_the_answers_is_no_answer(row: int) -> None:
    content = reply_with((RowFailure(row, "ValueError: no"),))[4:]
    with pytest.raises(BadPayloadError, match="of 3 rows failed"):
        WIRE.read_reply(content, 0, len(content))


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (ValueError("wrong shape"), ValueError, "wrong shape"),
        (ModelMismatchError("gone"), ModelMismatchError, "gone"),
        (OverloadedError("x" * 5000), OverloadedError, "x" * 1024),
        (ZeroDivisionError("by zero"), SparringError, "ZeroDivisionError: by zero"),
    ],
)
def test_an_error_arrives_as_one_of_its_kind(error: Exception, kind: type[Exception], message: str) -> None:
    (reply,) = ModelReplyReader(WIRE).feed(WIRE.reply(ModelReply(1, error, 0)))
    assert type(reply.answer) is kind
    assert str(reply.answer) == message


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (ModelWire(SPEC, "another").greeting(), UnauthorizedError),
        (ModelWire(ModelSpec(ArraySpec((1,)), Categorical(2)), "secret").greeting(), UnauthorizedError),
        (struct.pack(">I", 1025), BodyTooLargeError),
        (WIRE.greeting() + struct.pack(">I", 128 * 2**20 + 1), BodyTooLargeError),
        (WIRE.greeting() + struct.pack(">I", 5) + b"short", BadPayloadError),
        (WIRE.greeting() + struct.pack(">IQIqqdd", 44, 1, 0, 0, 0, 0, 0), BadPayloadError),
        (WIRE.greeting() + struct.pack(">IQIqqdd", 44, 1, 2**32 - 1, 0, 0, 0, 0), BadPayloadError),
    ],
)
def test_bytes_that_are_no_question_are_refused(data: bytes, kind: type[Exception]) -> None:
    reader = ModelCallReader(WIRE)
    assert [found for found in reader.feed(data) if found is not None] == []
    assert type(reader.failure) is kind


def test_a_question_that_no_frame_holds_is_refused() -> None:
    wire = ModelWire(ModelSpec(ArraySpec((2**20,), "uint8"), Categorical(2)), "secret")
    with pytest.raises(BodyTooLargeError, match="too many for a model's connection"):
        wire.call(ModelCall(1, [np.zeros((129, 2**20), np.uint8)], [], None, ALWAYS))
