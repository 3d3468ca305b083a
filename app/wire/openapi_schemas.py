"""JSON Schemas of what the game port answers over HTTP."""

from typing import Any, Final

from app.words import Purpose

Schema = dict[str, Any]
"""A JSON Schema (2020-12)."""

TEXT: Final[Schema] = {"type": "string"}
WHOLE: Final[Schema] = {"type": "integer", "minimum": 0}
ANYTHING: Final[Schema] = {"description": "The agent's own payload."}
PURPOSE: Final[Schema] = {"type": "string", "enum": [str(purpose) for purpose in Purpose]}
_NUMBER: Final[Schema] = {"type": ["number", "null"]}


def object_of(**properties: Schema) -> Schema:
    """Returns the schema of an object with these properties, none of which is required."""
    return {"type": "object", "properties": properties}


def named(name: str) -> Schema:
    """Returns what stands for one of ``SCHEMAS``."""
    return {"$ref": f"#/components/schemas/{name}"}


_COUNTS: Final[Schema] = {"type": "object", "additionalProperties": WHOLE}
_TEXTS: Final[Schema] = {"type": "array", "items": TEXT}
_DEGRADED: Final[Schema] = {"type": ["string", "null"], "description": "What keeps the event loop from running."}
_STUCK: Final[Schema] = {**_TEXTS, "description": "Calls of blocking agents that nobody waits for any more."}
_MEASURED: Final[Schema] = {
    "type": "array",
    "items": object_of(
        name=TEXT, kind=TEXT, unit=TEXT, labels={"type": "object", "additionalProperties": TEXT}, count=WHOLE,
        sum={"type": "number"}, min=_NUMBER, max=_NUMBER, last=_NUMBER, not_finite=WHOLE,
        quantiles={"type": "array", "items": _NUMBER, "description": "Those of the ranks 0.5, 0.9 and 0.99."},
        buckets={"type": "array", "items": WHOLE},
    ),
    "description": "What was measured, by name and labels.",
}  # fmt: skip
_REPLICA: Final = object_of(
    replica=TEXT, actor=TEXT, application=TEXT, host=TEXT, port=WHOLE, pid=WHOLE,
    healthy={"type": "boolean"}, ready={"type": "boolean"}, degraded=_DEGRADED,
    stuck=_STUCK, series=_MEASURED,
    sessions={**_COUNTS, "description": "Open sessions by purpose."}, games=WHOLE, open_connections=WHOLE,
    connections=_COUNTS, keys={"type": "object"}, usage={"type": "object", "additionalProperties": _COUNTS},
    loop_lag_s={"type": "number"}, loop_blocks=WHOLE, counts=_COUNTS,
    versions={"type": "object", "additionalProperties": TEXT},
    weights_age_s={
        "type": "object", "additionalProperties": {"type": ["number", "null"]},
        "description": "Seconds since the newest weights of each model came; null before the first.",
    },
    weights_taken_s={"type": "object", "additionalProperties": {"type": "number"}},
    buffer_links={"type": "object", "additionalProperties": {"type": "integer"}},
)  # fmt: skip
_AGE: Final[Schema] = {"type": ["number", "null"], "description": "Seconds since they came."}
_WEIGHTS: Final = object_of(
    newest={"type": ["string", "null"]}, age_s=_AGE,
    versions={"type": "array", "items": object_of(
        version=TEXT, age_s=_AGE, size_bytes=WHOLE, content_hash=TEXT, spec_hash=TEXT,
        parent={"type": ["string", "null"]}, pinned=WHOLE,
    )},
)  # fmt: skip
_NUMBER_OR_TEXT: Final[Schema] = {"type": ["number", "string"], "description": "Text where it is not finite."}
_NUMBER_OR_NONE: Final[Schema] = {"type": ["integer", "null"]}
_ALARM: Final = object_of(
    check=TEXT, kind=TEXT, action=TEXT, model=TEXT, source=TEXT, field=TEXT, value=_NUMBER_OR_TEXT, allowed=TEXT,
    time_s={"type": "number"}, first_s={"type": "number"}, times=WHOLE, element=_NUMBER_OR_NONE,
    session={"type": ["string", "null"]}, tick=_NUMBER_OR_NONE, update=_NUMBER_OR_NONE, record={"type": "boolean"},
    details=_TEXTS, message=TEXT,
)  # fmt: skip
SCHEMAS: Final[dict[str, Schema]] = {
    "Problem": object_of(type=TEXT, title=TEXT, status=WHOLE, code=TEXT, detail=TEXT)
    | {"required": ["type", "title", "status", "code", "detail"]},
    "Health": object_of(
        replica=TEXT, healthy={"type": "boolean"}, ready={"type": "boolean"}, degraded=_DEGRADED, stuck=_STUCK
    ),
    "Replica": _REPLICA,
    "Status": object_of(**_REPLICA["properties"] | {"sessions": WHOLE, "purposes": _COUNTS}),
    "Node": object_of(
        replicas={"type": "array", "items": named("Replica")}, silent=_TEXTS, sessions=WHOLE, connections=WHOLE,
        counts=_COUNTS, series=_MEASURED,
    ),
    "Series": object_of(series={"type": "array", "items": object_of(
        name=TEXT, unit=TEXT, kind=TEXT, labels={"type": "object", "additionalProperties": TEXT},
        values={"type": "object", "additionalProperties": _NUMBER},
        points={"type": "array", "items": {"type": "array", "items": {"type": "number"}}},
        histogram=object_of(
            edges={"type": "array", "items": {"type": "number"}}, counts={"type": "array", "items": WHOLE}
        ),
    )}),
    "MetricNames": object_of(metrics={"type": "array", "items": object_of(
        name=TEXT, unit=TEXT, kind=TEXT, help=TEXT, labels=_TEXTS,
    )}),
    "Weights": object_of(models={"type": "object", "additionalProperties": _WEIGHTS}),
    "Alarms": object_of(alarms={"type": "array", "items": _ALARM}, forgotten=WHOLE),
    "League": object_of(
        standings={"type": "array", "items": {"type": "object"}}, payoff={"type": "object"}, counts=_COUNTS,
        open_matches=WHOLE, championship={"type": "object"}, turns={"type": "object", "additionalProperties": TEXT},
        matches={"type": "array", "items": {"type": "object"}},
    ),
    "Errors": object_of(errors={"type": "array", "items": named("Error")}, counts=_COUNTS),
    "Error": object_of(
        number=WHOLE, count=WHOLE, first_s={"type": "number"}, time_s={"type": "number"}, level=TEXT, where=TEXT,
        trial=TEXT, process=TEXT, session=TEXT, message=TEXT, traceback={"type": ["string", "null"]},
    ),
    "Ring": object_of(
        project=TEXT, trial=TEXT, mode=TEXT,
        parts={"type": "array", "items": object_of(
            id=TEXT, kind=TEXT, name=TEXT, facts={"type": "object", "additionalProperties": TEXT},
        )},
        links={"type": "array", "items": object_of(source=TEXT, target=TEXT, meaning=TEXT)},
    ),
    "Recordings": object_of(
        folders=_TEXTS,
        recordings={"type": "array", "items": object_of(
            id=TEXT, number=WHOLE, session=TEXT, game=TEXT, agent=TEXT, purpose=TEXT, why=TEXT,
            began_s={"type": "number"}, seconds={"type": "number"}, ticks=WHOLE, errors=WHOLE,
            returned={"type": ["number", "null"]}, versions=_TEXTS, cause={"type": ["string", "null"]},
        )},
    ),
    "Opponent": object_of(player=TEXT, agent=TEXT, model_version={"type": ["string", "null"]}),
    "Session": object_of(
        id=TEXT, game=TEXT, agent=TEXT, purpose=PURPOSE, seq=WHOLE, idle_s={"type": "number"}, replica=TEXT
    ),
    "Page": object_of(
        sessions={"type": "array", "items": named("Session")}, next={"type": ["string", "null"]}, silent=_TEXTS
    ),
}  # fmt: skip
