"""What the JSON of the pages looks like is what the code writes and takes."""

import json
import logging
from typing import Any

import jsonschema
import pytest

from app.errors import SessionUnknownError
from app.logs.entry import Source
from app.logs.formats import EntryFormatter, as_json
from app.wire.http import refusal
from app.wire.openapi import OPERATIONS, openapi

from .blocks import Fenced, blocks

LOG_LINE = '"level"'
SENT, ANSWERED, PROBLEM, SERIES = '"kind": "tick"', '"error": {', '"about:blank"', '"points"'
COMPARED = (LOG_LINE, SENT, ANSWERED, PROBLEM, SERIES)
"""What the blocks hold that are compared here."""


def compared(block: Fenced) -> bool:
    """Returns whether a block is compared with the code here."""
    return block.language == "json" and any(text in block.text for text in COMPARED)


def shown(text: str) -> Any:
    (block,) = [block for block in blocks("json") if text in block.text]
    return json.loads(block.text)


def of_path(path: str, method: str) -> Any:
    """Returns request and response of a path as the OpenAPI document has them."""
    return openapi()["paths"][path][method]


def closed(part: Any) -> Any:
    """Returns a schema whose objects with known properties have no others."""
    if isinstance(part, dict):
        more = {"additionalProperties": False} if "properties" in part else {}
        return more | {name: closed(value) for name, value in part.items()}
    return [closed(one) for one in part] if isinstance(part, list) else part


def check(value: Any, schema: Any) -> None:
    whole = {**closed(schema), "components": {"schemas": closed(openapi()["components"]["schemas"])}}
    jsonschema.validate(value, whole, jsonschema.Draft202012Validator)


def test_a_line_of_the_log_is_the_one_that_is_written() -> None:
    told = shown(LOG_LINE)
    record = logging.LogRecord(told["where"], logging.ERROR, "game.py", 1, told["message"], (), None)
    record.session = told["session"]
    written = json.loads(EntryFormatter(as_json, Source(told["trial"], told["process"])).format(record))
    assert written | {"time": told["time"]} == told
    assert list(written) == list(told)
    assert len(written["time"]) == len(told["time"])


@pytest.mark.parametrize("text", [SENT, ANSWERED])
def test_steps_and_their_answers_are_those_of_the_document(text: str) -> None:
    steps = of_path("/steps", "post")
    whole = steps["requestBody"] if text == SENT else steps["responses"]["200"]
    check(shown(text), whole["content"]["application/json"]["schema"])


def test_a_problem_is_the_reply_to_a_step_of_a_session_that_is_not_open() -> None:
    told = shown(PROBLEM)
    check(told, openapi()["components"]["schemas"]["Problem"])
    assert json.loads(refusal(SessionUnknownError(told["detail"])).body) == told


def test_series_are_those_of_a_query() -> None:
    (query,) = [operation for operation in OPERATIONS if operation.path == "/metrics/query"]
    check(shown(SERIES), query.answer)
