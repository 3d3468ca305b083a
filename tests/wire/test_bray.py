import struct
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import BadRequestError, BodyTooLargeError, StepError
from app.types import StepKind
from app.wire.bray import MAX_NAME_BYTES, BrayReader, BrayRequest, encoded
from app.wire.steps import Credentials, StepReply, StepRequest

from .pieces import cut_anywhere, cut_once, one_by_one

LIMIT = 1000


def request(
    session: str = "s", kind: str = "tick", body: bytes = b"", *, key: str = "", token: str = "", time: int = 0
) -> bytes:
    """Returns a request as Bray's own clients pack one."""
    parts = [session.encode(), kind.encode(), key.encode(), token.encode(), body]
    return struct.pack("!6q", *map(len, parts), time) + b"".join(parts)


def read(*pieces: bytes) -> tuple[list[BrayRequest], StepError | None]:
    reader = BrayReader(LIMIT)
    requests = [one for piece in pieces for one in reader.feed(piece)]
    return requests, reader.failure


START = request("game-agent-a", "start", b"")
TICK = request("game-agent-a", "tick", b'{"obs": [1]}', key="k", token="t", time=8)  # noqa: S106  # A test.


def test_a_request_is_session_kind_and_body_and_the_time_is_kept_aside() -> None:
    assert read(START) == ([BrayRequest(StepRequest("game-agent-a", StepKind.START, b""), 0)], None)


def test_key_and_token_say_who_asks() -> None:
    (tick,), failure = read(TICK)
    assert failure is None
    assert tick.step.credentials == Credentials("k", "8", "t")
    assert (tick.step.kind, tick.step.body, tick.time) == (StepKind.TICK, b'{"obs": [1]}', 8)


@pytest.mark.parametrize("kind", ["stop", "end"])
def test_stop_has_two_names(kind: str) -> None:
    assert read(request(kind=kind))[0][0].step.kind is StepKind.STOP


def test_a_tick_without_a_session_is_stateless() -> None:
    assert read(request(""))[0][0].step.kind is StepKind.AUTO


def test_a_reply_gives_session_body_and_the_time_back() -> None:
    assert encoded(StepReply("sé", b"body", 3), -7) == struct.pack("!3q", 3, 4, -7) + "sé".encode() + b"body"


def test_a_request_may_come_byte_by_byte() -> None:
    assert read(*one_by_one(START + TICK + START)) == read(START + TICK + START)


def test_a_request_may_come_in_two_pieces_cut_anywhere() -> None:
    whole = read(START + TICK)
    assert len(whole[0]) == 2
    for pieces in cut_once(START + TICK):
        assert read(*pieces) == whole


def test_many_requests_may_come_in_one_piece() -> None:
    requests, failure = read(TICK * 500)
    assert (len(requests), failure) == (500, None)
    assert requests == read(TICK)[0] * 500


names = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), max_size=12)


@given(st.lists(st.tuples(names, st.binary(max_size=60), st.integers(-(2**63), 2**63 - 1)), max_size=5), st.data())
def test_requests_are_the_same_however_the_bytes_are_cut(
    given_: list[tuple[str, bytes, int]], data: st.DataObject
) -> None:
    stream = b"".join(request(session, "auto", body, time=time) for session, body, time in given_)
    requests, failure = read(*cut_anywhere(data, stream))
    assert failure is None
    assert [(one.step.session, one.step.body, one.time) for one in requests] == given_


# Limits


SIZES = ["session", "step_kind", "key", "token", "body"]


@pytest.mark.parametrize("size", [-1, 2**31, 2**62, 2**63 - 1, -(2**63)])
@pytest.mark.parametrize("field", range(5), ids=SIZES)
def test_an_absurd_size_is_refused_before_anything_is_read(field: int, size: int) -> None:
    sizes = [1, 4, 0, 0, 0, 0]
    sizes[field] = size
    requests, failure = read(TICK + struct.pack("!6q", *sizes), b"x" * 100)
    assert len(requests) == 1
    assert isinstance(failure, BadRequestError | BodyTooLargeError)
    assert str(size) in str(failure) or "allowed are" in str(failure)


def test_sizes_are_allowed_up_to_their_limits() -> None:
    assert len(read(request(body=bytes(LIMIT)))[0]) == 1
    assert str(read(request(body=bytes(LIMIT + 1)))[1]) == "1001 bytes were declared; allowed are 1000"
    assert len(read(request("s", key="k" * (MAX_NAME_BYTES - 5)))[0]) == 1
    assert "allowed are 32768" in str(read(request("s" * (MAX_NAME_BYTES - 3)))[1])


def test_a_declared_size_costs_no_memory_before_the_bytes_come() -> None:
    readers = [BrayReader(2**30) for _ in range(100)]
    tracemalloc.start()
    for reader in readers:
        reader.feed(struct.pack("!6q", 1, 4, 0, 0, 2**30, 0) + b"x")
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 100_000


@pytest.mark.parametrize(
    "bad",
    [
        request("a\n"),
        request("x" * 257),
        request(kind="jump"),
        request("", "stop"),
        struct.pack("!6q", 1, 0, 0, 0, 0, 0) + b"\xff",
    ],
)
def test_what_is_no_step_is_refused_behind_what_was(bad: bytes) -> None:
    requests, failure = read(TICK + bad + TICK)
    assert len(requests) == 1
    assert isinstance(failure, BadRequestError)


@given(
    st.lists(st.sampled_from([START, TICK, struct.pack("!6q", 0, 0, 0, 0, 9, 0)]) | st.binary(max_size=60), max_size=9)
)
def test_no_bytes_at_all_make_the_reader_raise(pieces: list[bytes]) -> None:
    requests, failure = read(*pieces)
    assert all(isinstance(one.step, StepRequest) for one in requests)
    assert failure is None or isinstance(failure, StepError)
