"""Requests as they come through Ray Serve's own port."""

from typing import Any
from urllib.parse import unquote

import pytest
from starlette.requests import Request

from app.errors import BodyTooLargeError
from app.wire.http import HttpRequest
from deployments.serve_port import read_request

ROUTE = "/second"


async def read(target: str, body: bytes = b"", headers: tuple[tuple[bytes, bytes], ...] = ()) -> HttpRequest:
    """Returns what is read of a request, of which the server has decoded the path."""
    path, _, query = target.partition("?")
    scope = {
        "type": "http",
        "method": "GET",
        "path": ROUTE + unquote(path),
        "root_path": ROUTE,
        "query_string": query.encode(),
        "headers": headers,
    }

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    return await read_request(Request(scope, receive), 10)


@pytest.mark.parametrize("path", ["/sessions/far%2Faway", "/sessions/a%2520b", "/sessions/%C3%BC%3Fx", "/step", "/"])
async def test_a_path_is_the_one_of_the_game_port_without_the_applications_route(path: str) -> None:
    assert unquote((await read(path)).path) == unquote(path)


async def test_a_header_wins_over_the_query_and_both_are_named_alike() -> None:
    read_ = await read("/sessions?limit=2&Step_Kind=tick&key=query", headers=((b"key", b"header"),))
    assert read_.fields == {"limit": "2", "step-kind": "tick", "key": "header"}


async def test_a_body_above_the_limit_is_refused() -> None:
    assert (await read("/step", b"0123456789")).body == b"0123456789"
    with pytest.raises(BodyTooLargeError):
        await read("/step", b"0123456789a")
