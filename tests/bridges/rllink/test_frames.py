"""Messages of RLlink as RLlib's own client writes and reads them."""

import asyncio
import pickle

import msgpack
import msgpack_numpy
import numpy as np
import pytest

from app.bridges.errors import BridgeError, GameGoneError
from app.bridges.rllink.frames import parse_length, parse_message, read_message, write_message

PING = b"00000011\x81\xa4type\xa4PING"
"""What ``send_rllink_message`` of Ray 2.60 writes for a PING."""
LOGITS = (
    b"\x82\xa4type\xa8EPISODES\xa1l\x85\xc4\x02nd\xc3\xc4\x04type\xa3<f4\xc4\x04kind\xc4\x00\xc4\x05shape\x91\x02"
    b"\xc4\x04data\xc4\x08\x00\x00\x00\x00\x00\x00\x80?"
)
"""What msgpack-numpy writes for an array."""


async def read(data: bytes) -> object:
    reader = asyncio.StreamReader()
    reader.feed_data(data)
    reader.feed_eof()
    return await read_message(reader, 1.0)


async def test_what_rllibs_client_writes_is_read() -> None:
    assert await read(PING) == {"type": "PING"}
    message = parse_message(LOGITS)
    np.testing.assert_array_equal(message["l"], np.array([0, 1], np.float32))


def test_what_the_bridge_writes_is_what_rllibs_client_reads() -> None:
    weights = {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.zeros(0)}
    frame = write_message("SET_STATE", state={"rl_module": weights, "weights_seq_no": 3})
    assert parse_length(frame[:8]) == len(frame) - 8
    read_back = msgpack.unpackb(frame[8:], raw=False, object_hook=msgpack_numpy.decode)
    assert read_back["type"] == "SET_STATE"
    np.testing.assert_array_equal(read_back["state"]["rl_module"]["a"], weights["a"])
    assert read_back["state"]["rl_module"]["b"].shape == (0,)


@pytest.mark.parametrize("value", [np.float32(1.5), np.int64(3), np.bool_(True), np.arange(4).reshape(2, 2)])
def test_numbers_of_numpy_are_read(value: object) -> None:
    body = msgpack.packb({"type": "X", "v": value}, default=msgpack_numpy.encode, use_bin_type=True)
    np.testing.assert_array_equal(parse_message(body)["v"], value)


def test_nothing_is_unpickled() -> None:
    body = msgpack.packb({"type": "X", "v": np.array([print], object)}, default=msgpack_numpy.encode)
    with pytest.raises(BridgeError, match="nothing is unpickled"):
        parse_message(body)
    forged = {b"nd": True, b"type": "|O", b"kind": b"O", b"shape": [1], b"data": pickle.dumps(1)}
    with pytest.raises(BridgeError, match="nothing is unpickled"):
        parse_message(msgpack.packb({"type": "X", "v": forged}))


@pytest.mark.parametrize(
    "array",
    [
        {b"nd": True, b"type": "<f4", b"shape": [3], b"data": b"\0\0\0\0"},
        {b"nd": True, b"type": "<f4", b"shape": [1], b"data": "text"},
        {b"nd": True, b"type": "?!", b"shape": [1], b"data": b""},
        {b"nd": False, b"type": "<f4", b"data": b""},
    ],
)
def test_arrays_that_are_none_are_told(array: dict[bytes, object]) -> None:
    with pytest.raises(BridgeError, match="cannot be read"):
        parse_message(msgpack.packb({"type": "X", "v": array}))


@pytest.mark.parametrize("body", [b"", b"\xc1", b"\x93\x01", msgpack.packb([1]), msgpack.packb({"type": 1})])
def test_what_is_no_message_is_told(body: bytes) -> None:
    with pytest.raises(BridgeError):
        parse_message(body)


async def test_headers_are_eight_digits_and_a_client_may_leave() -> None:
    with pytest.raises(BridgeError, match="RLlink has 8 digits"):
        await read(b"GET / HTTP/1.1\r\n")
    with pytest.raises(GameGoneError, match="has left"):
        await read(PING[:-1])
    with pytest.raises(GameGoneError, match="sent nothing for"):
        await read_message(asyncio.StreamReader(), 0.01)
