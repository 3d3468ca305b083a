"""Options of a session: what its start carries, checked against the schema that the agent declares."""

from typing import TypeVar

import orjson
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from app.errors import BadPayloadError

O = TypeVar("O", bound=BaseModel)  # noqa: E741  # The type of the options.

_SHOWN = 60
"""Characters of a wrong value that a message shows."""


def parse_options(schema: type[O], payload: object) -> O:
    """Returns the options that a start carries; an empty body has all defaults, and checked options are left alone.

    Numbers and text are not converted into one another (pydantic's strict mode). For an agent that reads bytes the body
    of its start is read as JSON all the same.

    Raises:
      BadPayloadError: They do not fit; the message lists each wrong field with what was got and what is allowed.
    """
    if isinstance(payload, schema):
        return payload
    try:
        return schema.model_validate_json(_text_of(payload) or b"{}", strict=True)
    except ValidationError as error:
        problems = [_problem(details, schema) for details in error.errors(include_url=False)]
        raise BadPayloadError(f"the start's options are wrong: {'; '.join(problems)}") from error


def _text_of(payload: object) -> bytes:
    """Returns the JSON text of a payload; empty where it is None."""
    if payload is None or isinstance(payload, bytes):
        return payload or b""
    try:
        return orjson.dumps(payload)
    except TypeError as error:  # Nested too deep, where it was parsed.
        raise BadPayloadError(f"the start's options are no JSON: {error}") from error


def _problem(details: ErrorDetails, schema: type[BaseModel]) -> str:
    place = ".".join(str(key) for key in details["loc"]) or "the body"
    got = repr(details["input"])
    shown = got if len(got) <= _SHOWN else f"{got[:_SHOWN]}…"
    match details["type"]:
        case "json_invalid":
            return f"{place} is {shown}; {details['msg']}"
        case "extra_forbidden":
            return f"{place} is unknown; allowed are {', '.join(schema.model_fields) or 'none'}"
        case "missing":
            return f"{place} is missing"
        case "model_type" | "model_attributes_type":
            return f"{place} is {shown}; allowed is a JSON object"
        case "value_error":
            return f"{place} is {shown}; {details['ctx']['error']}"
    _, should, rule = details["msg"].partition(" should ")
    return f"{place} is {shown}; allowed is {rule.removeprefix('be ') if should else details['msg']}"
