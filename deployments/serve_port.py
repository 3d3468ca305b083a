"""Serve's own port: its requests and replies as those of the game port."""

from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response

from app.errors import BodyTooLargeError
from app.wire.http import HttpReply, HttpRequest, field_text


async def read_request(request: Request, max_body_bytes: int) -> HttpRequest:
    """Returns a request as the game port would have read it, without the application's route prefix.

    Raises:
      BodyTooLargeError: The body is above the limit.
    """
    # A header wins over the query; Starlette would read its bytes as Latin-1.
    headers = {name.decode("latin-1"): field_text(value) for name, value in request.headers.raw}
    fields = dict(request.query_params) | headers
    path = str(request.scope["path"]).removeprefix(request.scope.get("root_path", ""))
    return HttpRequest(
        method=request.method.encode(),
        path=quote(path) or "/",  # Serve has decoded it, and a session's id may hold a percent sign.
        fields={name.lower().replace("_", "-"): value for name, value in fields.items()},
        body=await _body(request, max_body_bytes),
        keep_alive=True,
    )


def response(reply: HttpReply) -> Response:
    """Returns a reply as Serve sends it."""
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in reply.headers}
    return Response(reply.body, reply.status, headers, reply.content_type.decode())


async def _body(request: Request, max_body_bytes: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > max_body_bytes:
            raise BodyTooLargeError(f"{size} bytes arrived; allowed are {max_body_bytes}")
        parts.append(part)
    return b"".join(parts)
