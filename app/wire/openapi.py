"""The HTTP interface as an OpenAPI 3.1 document, made from the table of operations."""

from typing import Any

from app.errors import error_codes
from app.wire.openapi_schemas import SCHEMAS, Schema, named
from app.wire.operations import CREDENTIALS, OPERATIONS, Operation, Parameter
from app.wire.step_fields import PROTOCOL


def openapi() -> dict[str, Any]:
    """Returns the document."""
    paths: dict[str, dict[str, Any]] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method] = _operation(operation)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Sparring",
            "version": str(PROTOCOL),
            "description": "Steps of game cores, and what an operator sees. Header names: case does not matter, "
            "'-' equals '_', and each may stand in the query instead.",
        },
        "paths": paths,
        "components": {"schemas": SCHEMAS},
    }


def _operation(operation: Operation) -> dict[str, Any]:
    parameters = operation.parameters + (CREDENTIALS if operation.guarded else ())
    found: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "parameters": [_parameter(parameter) for parameter in parameters],
        "responses": {"200": _response("The answer.", operation.media, operation.answer)},
    }
    if operation.refused:
        errors = sorted(error_codes())
        description = f"Refused; the problem's code is one of {', '.join(errors)}."
        found["responses"]["default"] = _response(description, "application/problem+json", named("Problem"))
    if operation.body is not None:
        found["requestBody"] = {"content": {"application/json": {"schema": operation.body}}}
    return found


def _parameter(parameter: Parameter) -> dict[str, Any]:
    return {
        "name": parameter.name,
        "in": parameter.place,
        "required": parameter.place == "path",
        "description": parameter.meaning,
        "schema": parameter.schema,
    }


def _response(description: str, media: str, schema: Schema) -> dict[str, Any]:
    return {"description": description, "content": {media: {"schema": schema}}}
