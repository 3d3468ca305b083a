"""Which protocol a connection speaks, by its first bytes; no I/O."""

from enum import Enum, auto
from typing import Final

FIRST_BYTES: Final = 4
"""Bytes that tell the protocol."""

MAX_FRAME_BYTES: Final = 128 * 2**20
"""Largest native frame of all; above it the first byte would be that of another protocol."""


class Speech(Enum):
    """What a connection speaks."""

    HTTP = auto()
    """HTTP/1.1."""
    HTTP2 = auto()
    """HTTP/2 without an upgrade, which is not served."""
    BRAY = auto()
    """Bray's TCP framing."""
    NATIVE = auto()
    """Length-prefixed protobuf messages."""
    TLS = auto()
    """TLS, which this port does not end."""
    UNKNOWN = auto()
    """None of them."""


def detect(first: bytes) -> Speech:
    """Returns what a connection speaks.

    Args:
      first: Its first ``FIRST_BYTES`` bytes; what follows them is not looked at.
    """
    if first.startswith(b"PRI "):
        return Speech.HTTP2
    if first[:1].isupper():
        return Speech.HTTP
    if first.startswith(b"\x16\x03"):
        return Speech.TLS
    size = int.from_bytes(first[:FIRST_BYTES], "big")
    if size == 0:  # The upper half of an eight-byte size.
        return Speech.BRAY
    return Speech.NATIVE if size <= MAX_FRAME_BYTES else Speech.UNKNOWN
