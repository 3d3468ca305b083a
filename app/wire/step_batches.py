"""``/steps`` as it stands in HTTP bodies: a JSON list of steps, and the list of their answers."""

import base64
from collections.abc import Mapping
from typing import Final

import orjson

from app.errors import BadPayloadError, BadRequestError, StepError
from app.wire.step_fields import (
    checked_session,
    credentials_of,
    defaults_of,
    minted_once,
    parse_kind,
    parse_purpose,
    parse_whole,
)
from app.wire.steps import Body, Credentials, Json, JsonBody, StepReply, StepRequest, error_text, parse_json
from app.words import Purpose

MAX_BATCH_STEPS: Final = 4096
"""Steps in one ``/steps`` request."""


def batch_of(fields: Mapping[str, str], body: bytes) -> list[StepRequest]:
    """Returns the steps of a ``/steps`` request; purpose and deadline of the header are the items' default.

    Raises:
      BadPayloadError: The body is not a JSON list.
      BadRequestError: There are too many items, or one is not a step.
    """
    items = parse_json(body)
    if not isinstance(items, list):
        raise BadPayloadError(f"/steps takes a JSON list of steps, got a {type(items).__name__}")
    if len(items) > MAX_BATCH_STEPS:
        raise BadRequestError(f"/steps takes at most {MAX_BATCH_STEPS} steps, got {len(items)}")
    purpose, deadline_ms = defaults_of(fields)
    credentials = credentials_of(fields)
    steps: list[StepRequest] = []
    for at, item in enumerate(items):
        try:
            steps.append(_item(item, purpose, deadline_ms, credentials))
        except BadRequestError as error:
            raise BadRequestError(f"item {at} of /steps: {error}") from error
    return steps


def batch_reply(requests: list[StepRequest], answers: list[StepReply | StepError]) -> bytes:
    """Returns the body that answers a ``/steps`` request, in its order."""
    return orjson.dumps([_answer(request, answer) for request, answer in zip(requests, answers, strict=True)])


def _item(
    item: Json, purpose: Purpose | None, deadline_ms: float | None, credentials: Credentials | None
) -> StepRequest:
    if not isinstance(item, dict):
        raise BadRequestError(f"a step is an object, got {type(item).__name__}")
    session, kind, seq = item.get("session", ""), item.get("kind", "tick"), item.get("seq")
    if not isinstance(session, str) or not isinstance(kind, str):
        raise BadRequestError("session and kind are text")
    if seq is not None and (not isinstance(seq, int) or isinstance(seq, bool) or seq < 0):
        raise BadRequestError(f"seq is {seq!r}; allowed is a whole number from 0")
    own_purpose, own_deadline, once = item.get("purpose"), item.get("deadline_ms"), item.get("idempotency_key", "")
    if not isinstance(once, str):
        raise BadRequestError(f"idempotency_key is a {type(once).__name__}; allowed is text")
    parsed = parse_kind(kind, session)
    return StepRequest(
        session=checked_session(session) or minted_once(parsed, once),
        kind=parsed,
        body=_item_body(item),
        purpose=purpose if own_purpose is None else parse_purpose(str(own_purpose)),
        seq=seq,
        deadline_ms=deadline_ms if own_deadline is None else parse_whole("deadline_ms", str(own_deadline)),
        credentials=credentials,
        delta=item.get("delta") is True,
    )


def _item_body(item: dict[str, Json]) -> Body:
    encoded = item.get("body_b64")
    if encoded is None:
        return JsonBody(item.get("body"))
    if not isinstance(encoded, str):
        raise BadRequestError(f"body_b64 is a {type(encoded).__name__}; allowed is text")
    try:
        return base64.b64decode(encoded, validate=True)
    except ValueError as error:
        raise BadRequestError(f"body_b64 is not base64: {error}") from error


def _answer(request: StepRequest, answer: StepReply | StepError) -> dict[str, object]:
    if isinstance(answer, StepError):
        return {"session": request.session, "error": {"code": answer.code, "message": error_text(answer)}}
    reply: dict[str, object] = {"session": answer.session}
    if answer.is_json:
        reply["body"] = orjson.Fragment(answer.body)
    else:
        reply["body_b64"] = base64.b64encode(answer.body).decode()
    if answer.resumed_at is not None:
        reply["resumed_at"] = answer.resumed_at
    return reply
