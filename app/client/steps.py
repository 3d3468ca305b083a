"""The words of ``/step`` and ``/steps``: items, answers, errors, JSON."""

import ssl
import sys
from collections.abc import Sequence
from typing import NotRequired, TypedDict
from urllib.parse import urlsplit

import orjson

from app.client.errors import StepFailedError, UnreadableReplyError, failure_of
from app.client.reply import Reply
from app.words import StepKind

FIRST_SEQ = 0
"""``seq`` of a start; the first tick has the next one."""
START, TICK, STOP = StepKind.START.value, StepKind.TICK.value, StepKind.STOP.value
OK = 200
DRAINING_STATUS = 503
RETRIED_STATUSES = frozenset({429, DRAINING_STATUS})
RETRIED_CODES = frozenset({"overloaded", "draining"})
PORTS = {"http": 80, "https": 443}
"""Schemes that a service's URL may have, and their ports."""


class StepItem(TypedDict):
    """One step of a ``/steps`` request; ``body`` is any JSON value, numpy arrays included, ``body_b64`` is bytes."""

    session: str
    kind: str
    seq: int
    body: NotRequired[object]
    body_b64: NotRequired[str]
    purpose: NotRequired[str]
    idempotency_key: NotRequired[str]


class StepFault(TypedDict):
    """Why one step of a ``/steps`` request has no body."""

    code: str
    message: str


class StepAnswer(TypedDict):
    """The answer to one step: a body, as JSON or base64, or an error."""

    session: str
    body: NotRequired[object]
    body_b64: NotRequired[str]
    policy_version: NotRequired[str]
    resumed_at: NotRequired[int]
    error: NotRequired[StepFault]


def steps_to_repeat(items: Sequence[StepItem], answers: Sequence[StepAnswer]) -> list[int]:
    """Returns the indices of the steps refused for now, and of those behind them in the same session."""
    refused: set[str] = set()
    again = []
    for index, answer in enumerate(answers):
        if (fault := answer.get("error")) is None:
            continue
        session = items[index]["session"]
        if session in refused or fault["code"] in RETRIED_CODES:
            refused.add(session)
            again.append(index)
    return again


def version_of(answers: Sequence[StepAnswer]) -> str | None:
    """Returns the version that the last answer to name one names."""
    return next((answer["policy_version"] for answer in reversed(answers) if "policy_version" in answer), None)


def retry_after_s(reply: Reply) -> float:
    """Returns the seconds of ``Retry-After``; 0 where it is missing or a date."""
    text = reply.headers.get("retry-after", "")
    return float(text) if text.isdecimal() else 0.0


def step_failure(reply: Reply) -> StepFailedError:
    """Returns the error that a reply other than 200 stands for."""
    try:
        problem = orjson.loads(reply.body)
    except orjson.JSONDecodeError:
        problem = None
    if not isinstance(problem, dict):
        return failure_of("http_error", reply.body[:200].decode("utf-8", "replace"), reply.status)
    message = problem.get("detail") or problem.get("message") or problem.get("title") or ""
    return failure_of(str(problem.get("code", "http_error")), str(message), reply.status)


def parse_url(url: str) -> tuple[str, int, str]:
    """Returns host, port and path prefix of ``http://host:port`` or ``https://host:port``.

    Raises:
      ValueError: The URL has another scheme, no host, or a port out of range.
    """
    parts = urlsplit(url)
    if parts.scheme not in PORTS or not parts.hostname:
        raise ValueError(f"the service's URL is written http://host:port or https://host:port, got {url!r}")
    return parts.hostname, parts.port or PORTS[parts.scheme], parts.path.rstrip("/")


def tls_of(url: str) -> ssl.SSLContext | None:
    """Returns how the peer of a URL is checked; None for ``http``.

    Its certificate must be one of the machine's authorities, or of those in the file that ``SSL_CERT_FILE`` names.
    """
    return ssl.create_default_context() if urlsplit(url).scheme == "https" else None


def encode(value: object) -> bytes:
    """Returns the JSON of a value that may hold numpy arrays and scalars."""
    return orjson.dumps(value, default=_plain, option=orjson.OPT_SERIALIZE_NUMPY)


def decode(body: bytes) -> object:
    """Returns the value of a reply's JSON.

    Raises:
      UnreadableReplyError: The reply is not JSON.
    """
    try:
        value: object = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise UnreadableReplyError("bad_reply", f"the reply is not JSON ({error}): {body[:200]!r}", OK) from error
    return value


def decode_answers(body: bytes, count: int) -> list[StepAnswer]:
    """Returns the answers to ``count`` steps.

    Raises:
      UnreadableReplyError: The reply is not a list of as many answers, each with a body or an error.
    """
    answers = decode(body)
    if not isinstance(answers, list) or len(answers) != count:
        raise UnreadableReplyError("bad_reply", f"{count} steps were answered by {body[:200]!r}", OK)
    for answer in answers:
        if not isinstance(answer, dict) or not ("body" in answer or "error" in answer or "body_b64" in answer):
            raise UnreadableReplyError("bad_reply", f"an answer has neither body nor error: {answer!r}", OK)
    return answers


def _plain(value: object) -> object:
    numpy = sys.modules.get("numpy")  # Who has made an array has it loaded; the small install does without.
    if numpy is not None and isinstance(value, numpy.ndarray | numpy.generic):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is not JSON")
