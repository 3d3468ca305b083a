"""The config as JSON Schema, for editors that check and complete YAML."""

import json
from typing import TypeAlias

from app.config.described import Described
from app.config.root import ExperimentConfig

Schema: TypeAlias = dict[str, object]

_INTERPOLATION: Schema = {"type": "string", "pattern": r"\$\{.+\}"}


def json_schema() -> Schema:
    """Returns the JSON Schema of one config file.

    It demands no key, since a file may leave any of them to those that it extends or that extend it, and takes a
    ``${...}`` for every number and boolean.
    """
    schema = ExperimentConfig.model_json_schema(schema_generator=Described)
    lenient = {key: _lenient(value) for key, value in schema.items() if key != "required"}
    properties = lenient["properties"]
    extends: Schema = {
        "description": "Files, relative to this one, that it is merged over; later ones win.",
        "items": {"type": "string"},
        "type": "array",
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **lenient,
        "properties": {"extends": extends, **(properties if isinstance(properties, dict) else {})},
    }


def rendered() -> str:
    """Returns the text of ``configs/schema.json``."""
    return json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"


def _lenient(node: object) -> object:
    if isinstance(node, list):
        return [_lenient(item) for item in node]
    if not isinstance(node, dict):
        return node
    kept = {key: _lenient(value) for key, value in node.items() if not (key == "required" and isinstance(value, list))}
    if "oneOf" in kept:  # Without required keys, several members may fit.
        kept["anyOf"] = kept.pop("oneOf")
    if kept.get("type") not in {"integer", "number", "boolean"}:
        return kept
    notes = {key: kept.pop(key) for key in ("default", "description", "title") if key in kept}
    return {**notes, "anyOf": [kept, _INTERPOLATION]}
