import contextlib
import gzip
import os
import tracemalloc
import zlib

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from app.errors import BadRequestError, BodyTooLargeError
from app.wire.compression import MIN_BYTES, PIECE_BYTES, ZSTD_WINDOW_BYTES, deflate, inflate

MIB = 2**20


def zstd(body: bytes, **settings: int) -> bytes:
    return zstandard.ZstdCompressor(**settings).compress(body)


def streamed_zstd(body: bytes) -> bytes:
    """Returns a frame that does not tell its size, as a streaming client sends it."""
    packer = zstandard.ZstdCompressor().compressobj()
    return packer.compress(body) + packer.flush()


@pytest.mark.parametrize("encoding", ["gzip", "x-gzip", "GZIP", " gzip "])
def test_gzip_is_unpacked(encoding: str) -> None:
    assert inflate(gzip.compress(b"hello" * 1000), encoding, 5000) == b"hello" * 1000


@pytest.mark.parametrize("pack", [zstd, streamed_zstd])
@pytest.mark.parametrize("size", [0, 1, PIECE_BYTES - 1, PIECE_BYTES, PIECE_BYTES + 1])
def test_zstd_is_unpacked(pack: object, size: int) -> None:
    body = os.urandom(size)
    assert inflate(pack(body), "zstd", size) == body  # type: ignore[operator]


def test_gzip_may_have_several_members() -> None:
    assert inflate(gzip.compress(b"one") + gzip.compress(b"two"), "gzip", 6) == b"onetwo"
    with pytest.raises(BodyTooLargeError):
        inflate(gzip.compress(b"one") + gzip.compress(b"two"), "gzip", 5)


@pytest.mark.parametrize("encoding", ["", "identity", "Identity"])
def test_a_body_without_an_encoding_is_left_alone(encoding: str) -> None:
    assert inflate(b"as it is", encoding, 1) == b"as it is"


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_no_body_is_no_body_whatever_its_encoding(encoding: str) -> None:
    assert inflate(b"", encoding, 1) == b""


@pytest.mark.parametrize("encoding", ["br", "deflate", "gzip, zstd", "*", "x" * 1000])
def test_an_unknown_encoding_names_the_allowed_ones(encoding: str) -> None:
    with pytest.raises(BadRequestError, match=r"content-encoding is '.{1,40}'; allowed is one of zstd, gzip, or none"):
        inflate(b"body", encoding, 10)


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", b"no gzip"),
        ("gzip", zlib.compress(b"zlib is not gzip")),
        ("gzip", gzip.compress(b"x" * 100, mtime=0)[:-1]),
        ("gzip", gzip.compress(b"x" * 100, mtime=0)[:3]),
        ("gzip", gzip.compress(b"x" * 100, mtime=0) + b"more"),
        ("gzip", gzip.compress(b"x" * 100, mtime=0)[:-8] + b"\0" * 8),  # Its checksum is wrong.
        ("zstd", b"no zstd"),
        ("zstd", zstd(b"x" * 100)[:-1]),
        ("zstd", zstd(os.urandom(100))[:3]),
        ("zstd", streamed_zstd(b"x" * 100)[:-1]),
        ("zstd", zstd(b"x" * 100) + b"more"),
        ("zstd", zstd(b"x" * 100) + zstd(b"a second frame")),
    ],
)
def test_a_damaged_body_is_refused(encoding: str, body: bytes) -> None:
    with pytest.raises(BadRequestError, match=f"the (body is not {encoding}|{encoding} body)"):
        inflate(body, encoding, 10_000)


@pytest.mark.parametrize("pack", [gzip.compress, zstd, streamed_zstd])
def test_a_bomb_is_refused_with_flat_memory(pack: object) -> None:
    bomb = pack(bytes(64 * MIB))  # type: ignore[operator]
    assert len(bomb) < MIB
    encoding = "gzip" if bomb[:2] == b"\x1f\x8b" else "zstd"
    tracemalloc.start()
    try:
        with pytest.raises(BodyTooLargeError, match=f"unpacks to more than {MIB} bytes; allowed are {MIB}"):
            inflate(bomb, encoding, MIB)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 5 * MIB


@pytest.mark.parametrize(("encoding", "pack"), [("gzip", gzip.compress), ("zstd", zstd), ("zstd", streamed_zstd)])
def test_the_limit_itself_is_allowed(encoding: str, pack: object) -> None:
    body = bytes(1000)
    assert inflate(pack(body), encoding, 1000) == body  # type: ignore[operator]
    with pytest.raises(BodyTooLargeError):
        inflate(pack(body), encoding, 999)  # type: ignore[operator]


def test_a_zstd_window_that_would_take_too_much_memory_is_refused() -> None:
    parameters = zstandard.ZstdCompressionParameters(window_log=27)
    packer = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    frame = packer.compress(b"small") + packer.flush()
    assert zstandard.get_frame_parameters(frame).window_size > ZSTD_WINDOW_BYTES
    with pytest.raises(BadRequestError, match="not zstd"):
        inflate(frame, "zstd", MIB)


BODY = b'{"observation": [0.1, 0.2]}' * 100


@pytest.mark.parametrize(
    ("accept", "encoding"),
    [
        ("gzip", "gzip"),
        ("zstd", "zstd"),
        ("gzip, deflate, br, zstd", "zstd"),
        ("gzip;q=1.0, zstd;q=0.5", "gzip"),
        ("GZIP; Q=0.1", "gzip"),
        ("*", "zstd"),
        ("*;q=0.5, zstd;q=0", "gzip"),
        ("gzip;q=0, zstd;q=0", None),
        ("gzip;q=nan", None),
        ("gzip;q=high", None),
        ("gzip;level=9", None),
        ("br", None),
        ("identity", None),
        ("", None),
        (",,;;=,", None),
    ],
)
def test_the_client_chooses_the_encoding(accept: str, encoding: str | None) -> None:
    packed, chosen = deflate(BODY, accept)
    assert chosen == encoding
    assert (packed == BODY) == (encoding is None)
    assert inflate(packed, chosen or "", len(BODY)) == BODY


def test_small_bodies_and_those_that_do_not_shrink_are_left_alone() -> None:
    small, noise = b"x" * (MIN_BYTES - 1), os.urandom(MIN_BYTES)
    assert deflate(small, "gzip, zstd") == (small, None)
    assert deflate(noise, "gzip, zstd") == (noise, None)
    assert deflate(small + b"x", "gzip, zstd")[1] == "zstd"


@given(st.binary(min_size=MIN_BYTES, max_size=MIN_BYTES + 100), st.sampled_from(["gzip", "zstd"]))
def test_what_is_packed_unpacks_to_the_same(body: bytes, accept: str) -> None:
    packed, encoding = deflate(body, accept)
    assert inflate(packed, encoding or "", len(body)) == body


@given(st.binary(max_size=60), st.sampled_from(["gzip", "zstd"]), st.booleans())
def test_any_bytes_are_unpacked_or_refused(body: bytes, encoding: str, framed: bool) -> None:
    head = {"gzip": b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff", "zstd": b"\x28\xb5\x2f\xfd"}[encoding]
    with contextlib.suppress(BadRequestError, BodyTooLargeError):
        assert len(inflate(head + body if framed else body, encoding, 1000)) <= 1000


@given(st.text(max_size=30) | st.lists(st.sampled_from(["gzip", "zstd", "*", ";q=", "0.5", ",", " "])).map("".join))
def test_any_accept_header_is_answered(accept: str) -> None:
    packed, encoding = deflate(BODY, accept)
    assert inflate(packed, encoding or "", len(BODY)) == BODY
