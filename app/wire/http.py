"""HTTP/1.1 bytes to requests and replies to bytes; no I/O."""

from dataclasses import dataclass
from typing import Final, NamedTuple
from urllib.parse import parse_qsl

import httptools
import orjson

from app.errors import BadRequestError, BodyTooLargeError, StepError
from app.wire.steps import error_text

MAX_HEAD_BYTES: Final = 32 * 1024
"""Largest request line and headers together."""

JSON: Final = b"application/json"
BYTES: Final = b"application/octet-stream"
PROBLEM: Final = b"application/problem+json"

REASONS: Final = {
    200: b"OK",
    400: b"Bad Request",
    401: b"Unauthorized",
    404: b"Not Found",
    405: b"Method Not Allowed",
    409: b"Conflict",
    410: b"Gone",
    413: b"Content Too Large",
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


class HttpReader:
    """Splits a connection's bytes into requests."""

    def __init__(self, max_body_bytes: int) -> None:
        self._max_body = max_body_bytes
        self._parser = httptools.HttpRequestParser(self)
        self._complete: list[HttpRequest] = []
        self._refusal: StepError | None = None
        self._silent_bytes = 0
        """Bytes of a header that has not ended yet; the parser holds them."""
        self.failure: StepError | None = None
        """Why the connection is beyond use; None while it is good."""
        self.on_message_begin()
        self._begun = False

    @property
    def partial(self) -> bool:
        """Whether a request has begun to come that is not whole yet."""
        return self._begun

    def feed(self, data: bytes) -> list[HttpRequest]:
        """Returns the requests that these bytes complete; sets ``failure`` where bytes behind them are refused."""
        if self.failure is not None:
            return []
        self._silent_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._complete.pop()  # The request that asks for it; the parser has skipped its body.
            self.failure = BadRequestError("protocol upgrades are not served on this port; speak plain HTTP/1.1")
        except httptools.HttpParserError as error:
            self.failure = self._refusal or BadRequestError(f"not an HTTP/1.1 request: {error}")
        else:
            if self._silent_bytes > MAX_HEAD_BYTES:
                self.failure = _head_too_large()
        complete, self._complete = self._complete, []
        return complete

    # What follows is called by httptools while it parses.

    def on_message_begin(self) -> None:
        """Forgets the previous request."""
        self._begun = True
        self._url = b""
        self._fields: dict[str, str] = {}
        self._head_ended = False
        self._body: bytes | bytearray = b""
        self._head_bytes = self._silent_bytes = 0

    def on_url(self, url: bytes) -> None:
        """Takes a part of the target."""
        self._url += url
        self._count_head(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        """Takes a header; those that trail a body are passed over."""
        self._count_head(len(name) + len(value))
        if self._head_ended:
            return
        self._fields[name.decode("latin-1").lower().replace("_", "-")] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        """Refuses a declared body above the limit before any of it is read."""
        self._head_ended = True
        declared = self._fields.get("content-length", "0")
        if declared.isdecimal() and int(declared) > self._max_body:
            self._refuse_body(f"{declared} bytes were declared")

    def on_body(self, part: bytes) -> None:
        """Takes a part of the body."""
        self._silent_bytes = 0
        size = len(self._body) + len(part)
        if size > self._max_body:
            self._refuse_body(f"{size} bytes arrived")
        if not self._body:
            self._body = part
            return
        if isinstance(self._body, bytes):
            self._body = bytearray(self._body)  # Grows in place: a list would cost 50 bytes for each small part.
        self._body += part

    def on_message_complete(self) -> None:
        """Keeps the whole request."""
        self._begun = False
        path, query_string = self._target()
        fields = self._fields
        if query_string:
            query = parse_qsl(query_string.decode("latin-1"), keep_blank_values=True)
            fields = {name.lower().replace("_", "-"): value for name, value in query} | fields
        self._complete.append(
            HttpRequest(
                method=self._parser.get_method(),
                path=path.decode("latin-1"),
                fields=fields,
                body=bytes(self._body),
                keep_alive=self._parser.should_keep_alive(),
            )
        )

    def _target(self) -> tuple[bytes, bytes | None]:
        """Returns path and query."""
        try:
            url = httptools.parse_url(self._url)
        except httptools.HttpParserInvalidURLError:
            url = None
        if url is None or url.path is None:
            self._refusal = BadRequestError(f"the target {self._url[:80]!r} is not a path")
            raise self._refusal
        return url.path, url.query

    def _count_head(self, size: int) -> None:
        self._silent_bytes = 0
        self._head_bytes += size
        if self._head_bytes > MAX_HEAD_BYTES:
            self._refusal = _head_too_large()
            raise self._refusal

    def _refuse_body(self, what: str) -> None:
        self._refusal = BodyTooLargeError(f"{what}; allowed are {self._max_body}")
        raise self._refusal


class HttpReply(NamedTuple):
    """One reply."""

    status: int
    body: bytes
    content_type: bytes = JSON
    headers: tuple[tuple[bytes, bytes], ...] = ()

    def encoded(self, *, close: bool = False, head_only: bool = False) -> bytes:
        """Returns the bytes of the reply.

        Args:
          close: Announce that the connection ends with it.
          head_only: Leave the body out, as the reply to ``HEAD`` must.
        """
        more = b"".join([b"%s: %s\r\n" % header for header in self.headers])
        return b"HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n%s%s\r\n%s" % (
            self.status,
            REASONS.get(self.status, b"Unknown"),
            self.content_type,
            len(self.body),
            more,
            b"Connection: close\r\n" if close else b"",
            b"" if head_only else self.body,
        )


def refusal(error: StepError) -> HttpReply:
    """Returns the reply that tells a game core what went wrong (RFC 9457); it never holds a traceback."""
    title = error.code.replace("_", " ")
    detail = error_text(error)
    problem = {"type": "about:blank", "title": title, "status": error.status, "code": error.code, "detail": detail}
    retry = () if error.retry_after_s is None else ((b"Retry-After", b"%d" % error.retry_after_s),)
    return HttpReply(error.status, orjson.dumps(problem), PROBLEM, retry)


def _head_too_large() -> BadRequestError:
    return BadRequestError(f"the request's head is over the {MAX_HEAD_BYTES} bytes allowed")
