"""The messages of RLlink 0.0.1: eight digits that say how many bytes of MessagePack follow.

Arrays stand in them as msgpack-numpy writes them. What that would unpickle is refused: nothing from a client is.
"""

import asyncio
from typing import Any, Final

import msgpack
import numpy as np

from app.bridges.errors import BridgeError, GameGoneError

HEADER_BYTES: Final = 8
MAX_BODY_BYTES: Final = 10**HEADER_BYTES - 1
"""What eight digits can say."""
NUMBERS: Final = frozenset("biuf")
"""Kinds of dtypes that are read."""

Message = dict[str, Any]


def write_message(kind: str, **fields: object) -> bytes:
    """Returns the bytes of a message.

    Raises:
      BridgeError: It is larger than its header can say.
    """
    body: bytes = msgpack.packb({"type": kind, **fields}, use_bin_type=True, default=_pack)
    if len(body) > MAX_BODY_BYTES:
        raise BridgeError(f"{kind} has {len(body)} bytes; RLlink carries up to {MAX_BODY_BYTES}")
    return f"{len(body):0{HEADER_BYTES}d}".encode() + body


def parse_length(header: bytes) -> int:
    """Returns how long a message's body is.

    Raises:
      BridgeError: The header is not eight digits.
    """
    if len(header) != HEADER_BYTES or not header.isdigit():
        raise BridgeError(f"the client sent the header {header!r}; RLlink has {HEADER_BYTES} digits")
    return int(header)


def parse_message(body: bytes) -> Message:
    """Returns a message, its kind under ``type``.

    Raises:
      BridgeError: It is none, or holds what would have to be unpickled.
    """
    try:
        message = msgpack.unpackb(body, raw=False, object_hook=_unpack, strict_map_key=True)
    except (ValueError, TypeError, IndexError, msgpack.UnpackException) as error:
        raise BridgeError(f"the client's message cannot be read: {error}") from error
    if not isinstance(message, dict) or not isinstance(message.get("type"), str):
        raise BridgeError("the client's message has no type")
    return message


async def read_message(reader: asyncio.StreamReader, wait_s: float) -> Message:
    """Returns the next message.

    Raises:
      GameGoneError: The client has left, or sent nothing for so long.
      BridgeError: It is no message.
    """
    try:
        async with asyncio.timeout(wait_s):
            length = parse_length(await reader.readexactly(HEADER_BYTES))
            return parse_message(await reader.readexactly(length))
    except TimeoutError as error:
        raise GameGoneError(f"the client sent nothing for {wait_s:g} s") from error
    except (asyncio.IncompleteReadError, ConnectionError) as error:
        raise GameGoneError("the client has left") from error


def _pack(value: object) -> object:
    if isinstance(value, np.ndarray):
        shape, data = list(value.shape), np.ascontiguousarray(value).tobytes()
        return {b"nd": True, b"type": value.dtype.str, b"kind": b"", b"shape": shape, b"data": data}
    raise TypeError(f"{type(value).__name__} is nothing that RLlink carries")


def _unpack(value: dict[Any, Any]) -> object:
    if b"nd" not in value:
        return value
    dtype = np.dtype(value[b"type"]) if isinstance(value.get(b"type"), str) else None
    if dtype is None or dtype.kind not in NUMBERS:
        raise ValueError(f"an array of {str(value.get(b'type'))[:40]}; allowed are numbers, nothing is unpickled")
    data = value.get(b"data")
    if not isinstance(data, bytes):
        raise ValueError("an array without data")  # noqa: TRY004  # Told as all that cannot be read.
    array = np.frombuffer(data, dtype)
    return array.reshape(value.get(b"shape", ())) if value[b"nd"] else array[0]
