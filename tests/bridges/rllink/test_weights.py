"""Weights that come from the game port."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import numpy as np
import pytest
from safetensors.numpy import save

from app.bridges.errors import BridgeError
from app.bridges.rllink.weights import NewestWeights
from app.client.signer import Signer
from app.types import Version
from app.wire.token import sign

BODY = save({"policy.weight": np.ones(2, np.float32)})
OK = f"HTTP/1.1 200 OK\r\npolicy_version: 1.7\r\netag: one\r\ncontent-length: {len(BODY)}\r\n\r\n".encode() + BODY
SAME = b"HTTP/1.1 304 Not Modified\r\n\r\n"
REFUSED = b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 6\r\n\r\nno key"


@asynccontextmanager
async def game_port(*answers: bytes) -> AsyncIterator[tuple[str, list[str]]]:
    """Answers one request after another, and keeps their heads."""
    left, heads = list(answers), []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while left:
            heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
            writer.write(left.pop(0))
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", heads


async def test_each_version_is_fetched_once_and_has_the_names_of_the_client() -> None:
    async with game_port(OK, SAME) as (url, heads):
        weights = NewestWeights(url, "main", {"pi.weight": "policy.weight", "bias": 0.5}, wait_s=0)
        version, arrays = await weights.newest()
        assert version == Version(1, 7)
        assert {name: array.tolist() for name, array in arrays.items()} == {"pi.weight": [1.0, 1.0], "bias": [0.5]}
        assert await weights.newest() == (version, arrays)
        await weights.close()
    assert [head.split()[1] for head in heads] == ["/weights/main/latest"] * 2
    assert "if-none-match: one" in heads[1].lower()
    assert "key:" not in heads[0].lower()


async def test_a_service_with_keys_is_shown_one() -> None:
    async with game_port(OK) as (url, heads):
        weights = NewestWeights(url, "main", None, wait_s=0, signer=Signer("bridge", "deep", clock=lambda: 1000.0))
        await weights.newest()
        await weights.close()
    assert "key: bridge" in heads[0].lower()
    assert f"token: {sign('deep', 'bridge', '1000', '')}" in heads[0].lower()


async def test_a_refusal_is_told() -> None:
    async with game_port(REFUSED) as (url, _):
        weights = NewestWeights(url, "main", None, wait_s=0)
        with pytest.raises(BridgeError, match="the service answered 401 for weights: no key"):
            await weights.newest()
        await weights.close()
