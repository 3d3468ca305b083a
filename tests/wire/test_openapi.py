"""The generated document, held against the rules of OpenAPI 3.1 and those of JSON Schema."""

import re
from typing import Any

import jsonschema
import pytest

from app.errors import error_codes
from app.wire.openapi import openapi
from app.wire.operations import OPERATIONS
from app.wire.routes import ROUTES

DOCUMENT = openapi()
SHAPE: dict[str, Any] = {
    "type": "object",
    "required": ["openapi", "info", "paths", "components"],
    "additionalProperties": False,
    "properties": {
        "openapi": {"type": "string", "pattern": r"^3\.1\.\d+$"},
        "info": {
            "type": "object",
            "required": ["title", "version"],
            "properties": {"title": {"type": "string"}, "version": {"type": "string"}},
        },
        "paths": {
            "type": "object",
            "additionalProperties": False,
            "patternProperties": {"^/": {"type": "object", "additionalProperties": {"$ref": "#/$defs/operation"}}},
        },
        "components": {"type": "object", "required": ["schemas"]},
    },
    "$defs": {
        "content": {
            "type": "object",
            "minProperties": 1,
            "propertyNames": {"pattern": "^[a-z]+/[a-z+.-]+$"},
            "additionalProperties": {"type": "object", "required": ["schema"], "additionalProperties": False,
                                     "properties": {"schema": {"type": "object"}}},
        },
        "operation": {
            "type": "object",
            "required": ["operationId", "summary", "responses"],
            "additionalProperties": False,
            "properties": {
                "operationId": {"type": "string"},
                "summary": {"type": "string", "minLength": 1},
                "parameters": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["name", "in", "schema"],
                        "additionalProperties": False,
                        "properties": {
                            "name": {"type": "string"},
                            "in": {"enum": ["query", "header", "path"]},
                            "required": {"type": "boolean"},
                            "description": {"type": "string"},
                            "schema": {"type": "object"},
                        },
                        "if": {"properties": {"in": {"const": "path"}}},
                        "then": {"properties": {"required": {"const": True}}, "required": ["required"]},
                    },
                },
                "requestBody": {"type": "object", "required": ["content"],
                                "properties": {"content": {"$ref": "#/$defs/content"}}},
                "responses": {
                    "type": "object",
                    "minProperties": 1,
                    "propertyNames": {"pattern": "^([1-5][0-9][0-9]|default)$"},
                    "additionalProperties": {
                        "type": "object",
                        "required": ["description", "content"],
                        "properties": {"content": {"$ref": "#/$defs/content"}},
                    },
                },
            },
        },
    },
}  # fmt: skip


def nodes(value: object) -> list[dict[str, Any]]:
    """Returns all objects inside a document."""
    if isinstance(value, list):
        return [node for part in value for node in nodes(part)]
    return [value, *(node for part in value.values() for node in nodes(part))] if isinstance(value, dict) else []


def test_the_document_has_the_shape_of_openapi_3_1() -> None:
    jsonschema.Draft202012Validator.check_schema(SHAPE)
    jsonschema.validate(DOCUMENT, SHAPE, jsonschema.Draft202012Validator)


def test_all_its_schemas_are_json_schemas() -> None:
    schemas = [node["schema"] for node in nodes(DOCUMENT["paths"]) if "schema" in node]
    for schema in [*schemas, *DOCUMENT["components"]["schemas"].values()]:
        jsonschema.Draft202012Validator.check_schema(schema)


def test_all_its_references_lead_somewhere() -> None:
    references = [node["$ref"] for node in nodes(DOCUMENT) if "$ref" in node]
    assert references
    for reference in references:
        name = reference.removeprefix("#/components/schemas/")
        assert name in DOCUMENT["components"]["schemas"]


def test_it_names_what_the_game_port_serves() -> None:
    served = {path: methods for path, methods in ROUTES.items() if path != "/ws"}  # OpenAPI has no WebSockets.
    assert served.keys() == DOCUMENT["paths"].keys()
    for path, methods in served.items():
        assert {method.upper() for method in DOCUMENT["paths"][path]} == set(methods) - {"HEAD"}


def test_path_parameters_stand_in_their_path_and_names_are_unique() -> None:
    for operation in OPERATIONS:
        declared = {parameter.name for parameter in operation.parameters if parameter.place == "path"}
        assert declared == set(re.findall(r"{(\w+)}", operation.path))
        places = [(parameter.name, parameter.place) for parameter in operation.parameters]
        assert len(places) == len(set(places))
    assert len({operation.name for operation in OPERATIONS}) == len(OPERATIONS)


@pytest.mark.parametrize("code", sorted(error_codes()))
def test_every_error_code_is_named(code: str) -> None:
    assert code in DOCUMENT["paths"]["/step"]["post"]["responses"]["default"]["description"]
