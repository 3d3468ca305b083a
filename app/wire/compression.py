"""Compressed bodies: gzip and, where it is installed, zstd (RFC 9110 section 8.4, RFC 8878)."""

import zlib
from importlib.util import find_spec
from typing import Final

from app.errors import BadRequestError, BodyTooLargeError

MIN_BYTES: Final = 1024
"""Smallest body that is compressed: a smaller one fits one network packet either way."""

ZSTD_WINDOW_BYTES: Final = 8 * 2**20
"""Largest zstd window, which the reader must hold in memory; RFC 9659 allows no more on the web."""

PIECE_BYTES: Final = 256 * 1024
"""Bytes that are unpacked at a time."""

LEVEL: Final = 1
"""Compression level, the fastest: a tick waits for it."""

_GZIP_WBITS: Final = 16 + zlib.MAX_WBITS
"""zlib's way of saying: with a gzip header, any window."""

_SAME: Final = ("", "identity")
_GZIP: Final = ("gzip", "x-gzip")
_ZSTD: Final = find_spec("zstandard") is not None
_SUPPORTED: Final = ("zstd", "gzip") if _ZSTD else ("gzip",)
"""Encodings, the preferred first."""


def inflate(body: bytes, encoding: str, max_bytes: int) -> bytes:
    """Returns the body as it was before its content encoding.

    Args:
      body: Bytes as received.
      encoding: Value of ``Content-Encoding``; empty or ``identity`` leaves the body alone.
      max_bytes: Largest result; memory stays near it, however much the body would unpack to.

    Raises:
      BadRequestError: The encoding is unknown, or the body is damaged or cut short.
      BodyTooLargeError: The result is larger than ``max_bytes``.
    """
    name = encoding.strip().lower()
    if name in _SAME:
        return body
    if name not in _GZIP and name not in _SUPPORTED:
        allowed = ", ".join(_SUPPORTED)
        raise BadRequestError(f"content-encoding is {encoding[:40]!r}; allowed is one of {allowed}, or none")
    if not body:
        return body
    return _unzip(body, max_bytes) if name in _GZIP else _unzstd(body, max_bytes)


def deflate(body: bytes, accept: str) -> tuple[bytes, str | None]:
    """Returns the body, compressed where the client accepts it and it helps, and the encoding; None where it has none.

    Args:
      body: Bytes to send.
      accept: Value of ``Accept-Encoding``, such as ``gzip, zstd;q=0.5``; the highest q wins, among equals zstd.
    """
    if len(body) < MIN_BYTES or not accept:
        return body, None
    encoding = _chosen(accept)
    if encoding is None:
        return body, None
    packed = _zip(body) if encoding == "gzip" else _zstd(body)
    return (packed, encoding) if len(packed) < len(body) else (body, None)


def _chosen(accept: str) -> str | None:
    weights = dict(map(_weighed, accept.lower().split(",")))
    others = weights.get("*", 0.0)
    quality = {name: weights.get(name, others) for name in _SUPPORTED}
    best = max(_SUPPORTED, key=quality.__getitem__)  # The first among equals.
    return best if quality[best] > 0 else None


def _weighed(item: str) -> tuple[str, float]:
    """Returns a coding and its weight; one that cannot be read is not accepted."""
    name, _, parameter = item.partition(";")
    key, _, value = parameter.partition("=")
    if not parameter.strip():
        return name.strip(), 1.0
    try:
        weight = float(value) if key.strip() == "q" else 0.0
    except ValueError:
        weight = 0.0
    return name.strip(), weight


def _unzip(body: bytes, max_bytes: int) -> bytes:
    unpacked = bytearray()
    rest = body
    while rest:  # A body may hold several gzip members.
        member = zlib.decompressobj(_GZIP_WBITS)
        try:
            unpacked += member.decompress(rest, max_bytes - len(unpacked) + 1)
        except zlib.error as error:
            raise BadRequestError(f"the body is not gzip: {error}") from error
        _check_size(len(unpacked), max_bytes)
        if not member.eof:
            raise BadRequestError(f"the gzip body is cut short after {len(body)} bytes")
        rest = member.unused_data
    return bytes(unpacked)


def _unzstd(body: bytes, max_bytes: int) -> bytes:
    from zstandard import ZstdDecompressor, ZstdError  # noqa: PLC0415  # Not in the small install.

    unpacked = bytearray()
    try:
        reader = ZstdDecompressor(max_window_size=ZSTD_WINDOW_BYTES).stream_reader(body)
        while piece := reader.read(PIECE_BYTES):
            unpacked += piece
            _check_size(len(unpacked), max_bytes)
        # The reader takes a frame that is cut short for its end; this one, run on what is known to fit, does not.
        frame = ZstdDecompressor(max_window_size=ZSTD_WINDOW_BYTES).decompressobj()
        frame.decompress(body)
    except ZstdError as error:
        raise BadRequestError(f"the body is not zstd: {error}") from error
    if not frame.eof or frame.unused_data:
        raise BadRequestError(f"the zstd body of {len(body)} bytes is not one whole frame")
    return bytes(unpacked)


def _check_size(size: int, max_bytes: int) -> None:
    if size > max_bytes:
        raise BodyTooLargeError(f"the body unpacks to more than {max_bytes} bytes; allowed are {max_bytes}")


def _zip(body: bytes) -> bytes:
    packer = zlib.compressobj(LEVEL, zlib.DEFLATED, _GZIP_WBITS)
    return packer.compress(body) + packer.flush()


def _zstd(body: bytes) -> bytes:
    from zstandard import ZstdCompressor  # noqa: PLC0415  # Not in the small install.

    return ZstdCompressor(level=LEVEL).compress(body)
