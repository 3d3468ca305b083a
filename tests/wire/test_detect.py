import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.wire.detect import FIRST_BYTES, MAX_FRAME_BYTES, Speech, detect


@pytest.mark.parametrize("line", [b"GET /", b"POST /step", b"OPTIONS *", b"HEAD /", b"PUT /", b"PROXY TCP4"])
def test_a_capital_letter_begins_http(line: bytes) -> None:
    assert detect(line[:FIRST_BYTES]) is Speech.HTTP


def test_the_preface_of_http2_is_known() -> None:
    assert detect(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[:FIRST_BYTES]) is Speech.HTTP2


def test_four_zeros_begin_a_frame_of_brays() -> None:
    assert detect((2**32 - 1).to_bytes(8, "big")[:4]) is Speech.BRAY
    assert detect((2**32).to_bytes(8, "big")[:4]) is Speech.NATIVE  # No session is that long.


@pytest.mark.parametrize("version", [b"\x16\x03\x01\x02", b"\x16\x03\x03\x00"])
def test_tls_is_known(version: bytes) -> None:
    assert detect(version) is Speech.TLS


@pytest.mark.parametrize("size", [1, 255, 65536, MAX_FRAME_BYTES])
def test_a_length_within_128_mib_begins_a_native_frame(size: int) -> None:
    assert detect(size.to_bytes(4, "big")) is Speech.NATIVE


@pytest.mark.parametrize("first", [(MAX_FRAME_BYTES + 1).to_bytes(4, "big"), b"get ", b"\r\nGE", b"\xff" * 4])
def test_anything_else_is_unknown(first: bytes) -> None:
    assert detect(first) is Speech.UNKNOWN


@given(st.binary(min_size=4, max_size=4), st.binary(max_size=4))
def test_the_first_four_bytes_decide_alone(first: bytes, more: bytes) -> None:
    assert detect(first + more) is detect(first)
