"""HTTP requests, and replies to bytes; no I/O."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

import orjson

from app.errors import StepError
from app.wire.steps import error_text

JSON: Final = b"application/json"
BYTES: Final = b"application/octet-stream"
PROBLEM: Final = b"application/problem+json"

CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"
"""The word to send the body."""

NO_CONTENT: Final = 204
NOT_MODIFIED: Final = 304

REASONS: Final = {
    200: b"OK",
    204: b"No Content",
    304: b"Not Modified",
    307: b"Temporary Redirect",
    400: b"Bad Request",
    401: b"Unauthorized",
    404: b"Not Found",
    405: b"Method Not Allowed",
    409: b"Conflict",
    410: b"Gone",
    413: b"Content Too Large",
    417: b"Expectation Failed",
    422: b"Unprocessable Content",
    426: b"Upgrade Required",
    429: b"Too Many Requests",
    500: b"Internal Server Error",
    503: b"Service Unavailable",
    504: b"Gateway Timeout",
    505: b"HTTP Version Not Supported",
}


@dataclass(slots=True)
class HttpRequest:
    """One request; header and query names are lower case with ``-`` for ``_``, and a header wins over the query."""

    method: bytes
    path: str
    fields: dict[str, str]
    body: bytes
    keep_alive: bool


class BodyStream(NamedTuple):
    """A body that is sent in parts, since it is too large to be joined."""

    size_bytes: int
    """Of all parts together."""
    parts: Iterable[bytes | memoryview]
    """Small ones: each is written at once."""


class HttpReply(NamedTuple):
    """One reply."""

    status: int
    body: bytes
    content_type: bytes = JSON
    headers: tuple[tuple[bytes, bytes], ...] = ()
    stream: BodyStream | None = None
    """What follows in place of ``body``; None: nothing does."""

    def encoded(self, *, close: bool = False, head_only: bool = False) -> bytes:
        """Returns the bytes of the reply, up to the parts of its stream.

        Args:
          close: Announce that the connection ends with it.
          head_only: Leave the body out, as the reply to ``HEAD`` must.
        """
        more = b"".join([b"%s: %s\r\n" % header for header in self.headers])
        if self.status in (NO_CONTENT, NOT_MODIFIED):
            ending = b"Connection: close\r\n" if close else b""
            return b"HTTP/1.1 %d %s\r\n%s%s\r\n" % (self.status, REASONS[self.status], more, ending)
        return b"HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n%s%s\r\n%s" % (
            self.status,
            REASONS.get(self.status, b"Unknown"),
            self.content_type,
            len(self.body) if self.stream is None else self.stream.size_bytes,
            more,
            b"Connection: close\r\n" if close else b"",
            b"" if head_only else self.body,
        )


def field_text(value: bytes) -> str:
    """Returns the text of a header or query: UTF-8, or Latin-1 where it is none."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


def refusal(error: StepError) -> HttpReply:
    """Returns the reply that tells a game core what went wrong (RFC 9457); it never holds a traceback."""
    title = error.code.replace("_", " ")
    detail = error_text(error)
    problem = {"type": "about:blank", "title": title, "status": error.status, "code": error.code, "detail": detail}
    retry = () if error.retry_after_s is None else ((b"Retry-After", b"%d" % error.retry_after_s),)
    return HttpReply(error.status, orjson.dumps(problem), PROBLEM, retry)
