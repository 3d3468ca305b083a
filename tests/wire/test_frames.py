import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import BadRequestError, BodyTooLargeError, StepError
from app.wire.frames import FrameReader, frame

from .pieces import cut_anywhere, one_by_one

LIMIT = 1000


def read(*pieces: bytes, limit: int = LIMIT) -> tuple[list[bytes], StepError | None]:
    reader = FrameReader(limit)
    payloads = [payload for piece in pieces for payload in reader.feed(piece)]
    return payloads, reader.failure


def test_a_frame_is_a_big_endian_length_and_the_payload() -> None:
    assert frame(b"hello") == b"\x00\x00\x00\x05hello"
    assert read(b"\x00\x00\x00\x05hello") == ([b"hello"], None)


def test_frames_may_come_byte_by_byte_and_many_in_one_piece() -> None:
    stream = frame(b"a") + frame(b"bcd" * 100) + frame(b"e")
    assert read(*one_by_one(stream)) == ([b"a", b"bcd" * 100, b"e"], None)
    assert read(stream * 300) == ([b"a", b"bcd" * 100, b"e"] * 300, None)


@given(st.lists(st.binary(min_size=1, max_size=50), max_size=6), st.data())
def test_frames_are_the_same_however_the_bytes_are_cut(payloads: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(frame(payload) for payload in payloads)
    assert read(*cut_anywhere(data, stream)) == (payloads, None)


@pytest.mark.parametrize("size", [LIMIT + 1, 2**31, 2**32 - 1])
def test_a_size_over_the_limit_is_refused_behind_what_was_good(size: int) -> None:
    payloads, failure = read(frame(b"good") + size.to_bytes(4, "big"), b"more")
    assert payloads == [b"good"]
    assert isinstance(failure, BodyTooLargeError)
    assert str(failure) == f"a frame of {size} bytes was declared; allowed are {LIMIT}"


def test_a_frame_as_large_as_allowed_is_read_and_an_empty_one_is_refused() -> None:
    assert read(frame(bytes(LIMIT))) == ([bytes(LIMIT)], None)
    assert isinstance(read(frame(b""))[1], BadRequestError)


def test_a_reader_tells_whether_it_waits_for_the_rest() -> None:
    reader = FrameReader(LIMIT)
    seen = []
    for piece in (b"\x00", b"\x00\x00\x05hel", b"lo", frame(b"x"), frame(b"y") + b"\x00"):
        reader.feed(piece)
        seen.append(reader.partial)
    assert seen == [True, True, False, False, True]


def test_a_declared_size_costs_no_memory_before_the_bytes_come() -> None:
    readers = [FrameReader(2**27) for _ in range(100)]
    tracemalloc.start()
    for reader in readers:
        reader.feed((2**27).to_bytes(4, "big") + b"x")
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 100_000


@given(st.lists(st.binary(max_size=40), max_size=20))
def test_no_bytes_at_all_make_the_reader_raise(pieces: list[bytes]) -> None:
    payloads, failure = read(*pieces)
    assert sum(map(len, payloads)) <= sum(map(len, pieces))
    assert failure is None or isinstance(failure, StepError)
