"""The frames of Godot RL Agents: a little-endian length of 4 bytes, then JSON."""

import asyncio
from typing import Any, Final

import orjson

from app.bridges.errors import BridgeError, GameGoneError

LENGTH_BYTES: Final = 4
MAX_FRAME_BYTES: Final = 64 * 2**20
"""More than a frame of many agents that see pictures."""

MAJOR_VERSION, MINOR_VERSION = "0", "7"
"""Of the protocol; the plugin compares them with its own."""

Frame = dict[str, Any]


def write_frame(message: Frame) -> bytes:
    """Returns the bytes of a message."""
    body = orjson.dumps(message, option=orjson.OPT_SERIALIZE_NUMPY)
    return len(body).to_bytes(LENGTH_BYTES, "little") + body


def parse_frame(body: bytes, kind: str) -> Frame:
    """Returns the message in a frame.

    Args:
      body: Without its length.
      kind: Type that is expected now.

    Raises:
      BridgeError: It is no such message.
    """
    try:
        message = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise BridgeError(f"the game sent no JSON ({error}): {body[:80]!r}") from error
    if not isinstance(message, dict) or message.get("type") != kind:
        raise BridgeError(f"the game sent {body[:80]!r}; expected is an object of the type {kind!r}")
    return message


async def read_frame(reader: asyncio.StreamReader, kind: str, wait_s: float) -> Frame:
    """Returns the next message.

    Args:
      reader: The game's bytes.
      kind: Type that is expected now.
      wait_s: Longest wait for it.

    Raises:
      GameGoneError: The game has left, or sent nothing.
      BridgeError: It is too large, or no such message.
    """
    try:
        async with asyncio.timeout(wait_s):
            length = int.from_bytes(await reader.readexactly(LENGTH_BYTES), "little")
            if not 0 < length <= MAX_FRAME_BYTES:
                raise BridgeError(f"the game declares a frame of {length} bytes; allowed are 1 to {MAX_FRAME_BYTES}")
            return parse_frame(await reader.readexactly(length), kind)
    except TimeoutError as error:
        raise GameGoneError(f"the game sent no {kind} within {wait_s:g} s") from error
    except (asyncio.IncompleteReadError, ConnectionError) as error:
        raise GameGoneError("the game has left") from error
