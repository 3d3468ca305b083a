"""Pydantic's errors in our words."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import get_close_matches
from types import UnionType
from typing import Annotated, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from app.config.problems import Problems, joined

_GOT_LENGTH = 60
"""Characters of a wrong value that a message shows."""

_NO_PLACE = {"extra_forbidden", "invalid_key"}
"""Errors whose last key is not in the schema."""


def shown(details: ErrorDetails) -> str:
    """Returns a wrong value as a message shows it."""
    got = repr(details["input"])
    return got if len(got) <= _GOT_LENGTH else f"{got[:_GOT_LENGTH]}…"


def schema_problems(
    error: ValidationError, root: type[BaseModel], show: Callable[[ErrorDetails], str] = shown
) -> Problems:
    """Returns the problems that pydantic found, one for each key: what was got and what is allowed.

    Args:
      error: Raised by ``root.model_validate``.
      root: Class that was validated; it tells the allowed keys.
      show: Returns a wrong value as it may be shown.
    """
    messages: dict[str, list[str]] = {}
    for details in error.errors(include_url=False):
        if not _is_echo(details):
            path, schemas = _locate(details, root)
            messages.setdefault(path, []).append(_message(details, schemas, show))
    return {path: _alternatives(found) for path, found in messages.items() if not _below_it(path, messages)}


def _below_it(path: str, messages: Iterable[str]) -> bool:
    """Returns whether parts of a value are wrong; then it may fit one member of a union, whatever others say of it."""
    return any(other.startswith(f"{path}.") for other in messages)


def _is_echo(details: ErrorDetails) -> bool:
    """Returns whether a list is called too short only because its items are wrong."""
    given = details["input"]
    return details["type"] == "too_short" and isinstance(given, list) and len(given) > details["ctx"]["actual_length"]


def _alternatives(messages: Sequence[str]) -> str:
    """Returns one message for a value that fits no member of a union."""
    first, *others = dict.fromkeys(messages)
    return " or ".join([first, *(other.partition(", allowed: ")[2] or other for other in others)])


def _message(details: ErrorDetails, schemas: Sequence[object], show: Callable[[ErrorDetails], str]) -> str:
    kind, key = details["type"], str(details["loc"][-1]) if details["loc"] else ""
    if kind == "extra_forbidden":
        return _unknown_key(key, schemas)
    if kind == "missing":
        return "is missing and has no default"
    if kind == "value_error":
        return str(details["ctx"]["error"])
    return f"wrong {'name' if key == '[key]' else 'value'}, got {show(details)}, allowed: {_allowed(details)}"


def _unknown_key(key: str, schemas: Sequence[object]) -> str:
    models = [schema for schema in schemas if _is_model(schema)]
    allowed = sorted({field for model in models for field in model.model_fields})  # type: ignore[attr-defined]
    close = get_close_matches(key, allowed, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    return f"unknown key, {hint}allowed: {', '.join(allowed)}"


def _allowed(details: ErrorDetails) -> str:
    match details["type"]:
        case "model_type" | "dict_type" | "tuple_type" | "list_type" as kind:
            return "a mapping" if kind in {"model_type", "dict_type"} else "a list"
        case "union_tag_invalid":
            return f"{details['ctx']['discriminator']} is one of {details['ctx']['expected_tags']}"
        case "union_tag_not_found":
            return f"a mapping with {details['ctx']['discriminator']}"
        case "string_pattern_mismatch":
            return f"text that matches {details['ctx']['pattern']}"
        case "too_short" | "too_long" as kind:
            bound, length = ("least", "min_length") if kind == "too_short" else ("most", "max_length")
            return f"a list of at {bound} {details['ctx'][length]}"
    _, should, rule = details["msg"].partition(" should ")
    return rule.removeprefix("be ").partition(", unable to ")[0] if should else details["msg"]


def _locate(details: ErrorDetails, root: type[BaseModel]) -> tuple[str, list[object]]:
    """Returns the dotted path of an error, without pydantic's union tags, and the schemas that hold there.

    For a key that the schema does not know, they are those of the place above.
    """
    loc = details["loc"]
    known = loc[:-1] if details["type"] in _NO_PLACE else loc
    path = ""
    schemas: list[object] = [root]
    for key in known:
        below = [inner for schema in schemas for inner in _below(schema, key)]
        if below:
            path, schemas = joined(path, key), below
        elif tagged := [schema for schema in schemas if _tag(schema) == key]:
            schemas = tagged
    return (joined(path, loc[-1]) if len(known) < len(loc) else path), schemas


def _below(schema: object, key: str | int) -> Iterator[object]:
    """Yields the schemas of ``key`` inside ``schema``; none if it has no such place."""
    container, inner = get_origin(schema), get_args(schema)
    if container is dict:
        yield from _members(inner[1])
    elif container in {list, tuple} and isinstance(key, int):
        yield from _members(inner[0])
    elif _is_model(schema) and key in schema.model_fields:  # type: ignore[attr-defined]
        yield from _members(schema.model_fields[key].annotation)  # type: ignore[attr-defined]


def _members(annotation: object) -> Iterator[object]:
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from _members(get_args(annotation)[0])
    elif origin in {Union, UnionType}:
        for member in get_args(annotation):
            yield from _members(member)
    else:
        yield annotation


def _tag(schema: object) -> object:
    """Returns the tag of a member of a tagged union, which is the default of its field ``kind``; None without one."""
    field = schema.model_fields.get("kind") if _is_model(schema) else None  # type: ignore[attr-defined]
    return None if field is None else field.default


def _is_model(schema: object) -> bool:
    return isinstance(schema, type) and get_origin(schema) is None and issubclass(schema, BaseModel)
