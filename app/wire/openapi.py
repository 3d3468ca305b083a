"""The HTTP interface as an OpenAPI 3.1 document, made from one table."""

from dataclasses import dataclass
from typing import Any, Final

from app.errors import error_codes
from app.wire.step_batches import MAX_BATCH_STEPS
from app.wire.step_fields import PROTOCOL
from app.words import Purpose, StepKind

Schema = dict[str, Any]
"""A JSON Schema (2020-12)."""

TEXT: Final[Schema] = {"type": "string"}
WHOLE: Final[Schema] = {"type": "integer", "minimum": 0}
ANYTHING: Final[Schema] = {"description": "The agent's own payload."}


@dataclass(frozen=True, slots=True)
class Parameter:
    """One field of a request; headers are accepted in the query as well."""

    name: str
    place: str
    """``header``, ``query`` or ``path``."""
    schema: Schema
    meaning: str


@dataclass(frozen=True, slots=True)
class Operation:
    """One path and method of the game port."""

    method: str
    path: str
    name: str
    summary: str
    answer: Schema
    """Of the body with status 200."""
    media: str = "application/json"
    body: Schema | None = None
    parameters: tuple[Parameter, ...] = ()
    refused: bool = True
    """Whether it may be answered by a problem document."""
    guarded: bool = False
    """Whether it needs an administrator's key where keys are configured."""


_NUMBER: Final[Schema] = {"type": ["number", "null"]}


def _object(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


_PURPOSE: Final[Schema] = {"type": "string", "enum": [str(purpose) for purpose in Purpose]}
_KIND: Final[Schema] = {"type": "string", "enum": [*(str(kind) for kind in StepKind), "end"]}
_CREDENTIALS: Final = (
    Parameter("key", "header", TEXT, "Access key, where the service asks for one."),
    Parameter("time", "header", WHOLE, "Unix seconds that the token signs."),
    Parameter("token", "header", TEXT, "Hex HMAC-SHA256 of key, time and session under the key's secret."),
)
_SHARED: Final = (
    Parameter("purpose", "header", _PURPOSE, "Why the session is played; read at start."),
    Parameter("deadline_ms", "header", WHOLE, "Longest wait for an answer."),
    Parameter("protocol", "header", {"const": PROTOCOL}, "Version of this contract; another one is refused."),
    *_CREDENTIALS,
)
_STEP: Final = (
    Parameter("session", "header", TEXT, "Id of the session; empty in a start mints one."),
    Parameter("step_kind", "header", _KIND, "What is asked for; tick by default, auto without a session."),
    Parameter("seq", "header", WHOLE, "Number of the step, so that it can be repeated."),
    *_SHARED,
)
_PAGE: Final = (
    Parameter("limit", "query", {"type": "integer", "minimum": 1, "maximum": 1000}, "Sessions of one page."),
    Parameter("after", "query", TEXT, "``next`` of the page before."),
    Parameter("game", "query", TEXT, "Only the sessions of this game."),
    Parameter("purpose", "query", _PURPOSE, "Only the sessions with this purpose."),
)
_FILE: Final = (
    Parameter("model", "path", TEXT, "Name of the model in the config."),
    Parameter("version", "path", TEXT, "``generation.number``, or ``latest``."),
    Parameter("If-None-Match", "header", TEXT, "``ETag`` of the file that the client has."),
)
_ERRORS: Final = (
    Parameter("level", "query", {"type": "string", "enum": ["error", "warning"]}, "The least; error by default."),
    Parameter("after", "query", WHOLE, "Number behind which they begin."),
    Parameter("limit", "query", WHOLE, "The newest so many, at most 1,000; 100 by default."),
    Parameter("process", "query", TEXT, "Begin of the name of the process."),
    Parameter("session", "query", TEXT, "Of this session alone."),
    Parameter("traceback", "query", {"type": "string", "enum": ["0", "1"]}, "1 for tracebacks."),
)
_QUERY: Final = (
    Parameter("name", "query", TEXT, "Name of the metric."),
    Parameter("label.K", "query", TEXT, "Value that label K must have; for each label that is to be fixed."),
    Parameter("by", "query", TEXT, "Labels that make groups, with commas; empty for one group. Without: no groups."),
    Parameter("reduce", "query", TEXT, "What is wanted, with commas: mean, sum, rate, p99, histogram and so on."),
    Parameter("window_s", "query", {"type": "number"}, "Seconds to look back; without it, since the start."),
    Parameter("axis", "query", {"enum": ["time", "step", "samples"]}, "What the points' first numbers are."),
)
_ITEM: Final = _object(
    session=TEXT,
    kind=_KIND,
    seq=WHOLE,
    purpose=_PURPOSE,
    deadline_ms=WHOLE,
    body=ANYTHING,
    body_b64=TEXT,
    idempotency_key=TEXT,
)
_ANSWER: Final = _object(session=TEXT, body=ANYTHING, body_b64=TEXT, error=_object(code=TEXT, message=TEXT))

OPERATIONS: Final = (
    Operation("post", "/step", "step", "Answers one step.", ANYTHING, body=ANYTHING, parameters=_STEP),
    Operation(
        "post", "/steps", "steps", "Answers a frame of many games, in order.", {"type": "array", "items": _ANSWER},
        body={"type": "array", "items": _ITEM, "maxItems": MAX_BATCH_STEPS}, parameters=_SHARED,
    ),
    Operation("get", "/healthz", "health", "Tells whether the replica works; 503 where not.", _ref("Health")),
    Operation("get", "/readyz", "readiness", "Tells whether it takes new games; 503 where not.", _ref("Health")),
    Operation("get", "/status", "status", "Returns what one replica says of itself.", _ref("Status"), guarded=True),
    Operation(
        "get", "/weights", "weights", "Lists the models and the versions of their weights.", _ref("Weights"),
        guarded=True,
    ),
    Operation(
        "get", "/weights/{model}/{version}", "weightsFile",
        "Returns one version as a safetensors file, with its origin in the metadata; 304 where the client has it.",
        {"type": "string", "format": "binary"}, media="application/octet-stream", parameters=_FILE, guarded=True,
    ),
    Operation(
        "get", "/alarms", "alarms", "Returns what checks have found, the newest first.", _ref("Alarms"), guarded=True
    ),
    Operation(
        "get", "/league", "league", "Returns standings, payoff and the newest matches of the league.", _ref("League"),
        parameters=(Parameter("matches", "query", WHOLE, "How many matches, at most 1,000; none by default."),),
        guarded=True,
    ),
    Operation(
        "get", "/league/opponent", "opponent", "Returns a frozen player for a live game.", _ref("Opponent"),
        parameters=(
            Parameter("level", "query", {"type": "number"}, "From 0, the weakest, to 1, the strongest."),
            Parameter("rating", "query", {"type": "number"}, "The nearest one; without it and level the champion."),
        ),
        guarded=True,
    ),
    Operation("get", "/node", "node", "Returns what all its replicas say.", _ref("Node"), guarded=True),
    Operation(
        "get", "/sessions", "sessions", "Lists the node's open sessions, by id.", _ref("Page"), parameters=_PAGE,
        guarded=True,
    ),
    Operation(
        "get", "/sessions/{id}", "session", "Returns one open session of the node.", _ref("Session"),
        parameters=(Parameter("id", "path", TEXT, "Id of the session, percent-encoded."),), guarded=True,
    ),
    Operation(
        "get", "/errors", "errors", "Returns what went wrong anywhere in the trial, the newest last.", _ref("Errors"),
        parameters=_ERRORS, guarded=True,
    ),
    Operation(
        "get", "/recordings", "recordings", "Lists the newest recorded games of this node.", _ref("Recordings"),
        parameters=(Parameter("newest", "query", WHOLE, "How many, 1 to 500; 50 by default."),), guarded=True,
    ),
    Operation(
        "get", "/recordings/{folder}/{name}/{number}", "recording", "Returns a page that plays one of them.", TEXT,
        media="text/html", guarded=True,
        parameters=tuple(Parameter(name, "path", TEXT, "Of its ``id``.") for name in ("folder", "name", "number")),
    ),
    Operation(
        "post", "/recordings", "record", "Records an open session of the node, or the next games of this replica.",
        _object(session=TEXT, agent=TEXT, games=WHOLE),
        parameters=(
            Parameter("session", "query", TEXT, "Id of an open session, which is recorded from now on."),
            Parameter("agent", "query", TEXT, "Agent whose next games are recorded, in place of a session."),
            Parameter("games", "query", WHOLE, "How many games of that agent."),
        ),
        guarded=True,
    ),
    Operation(
        "get", "/metrics", "metrics", "Returns the node's metrics in Prometheus' text format.", TEXT,
        media="text/plain", guarded=True,
    ),
    Operation(
        "get", "/metrics/query", "metricsQuery", "Returns series of the whole trial: figures, and points over time.",
        _ref("Series"), parameters=_QUERY, guarded=True,
    ),
    Operation(
        "get", "/metrics/names", "metricsNames", "Lists the metrics of the whole trial.", _ref("MetricNames"),
        guarded=True,
    ),
    Operation(
        "get", "/ring", "ring", "Returns the parts of the trial and what goes from one to another.", _ref("Ring"),
        guarded=True,
    ),
    Operation("get", "/console", "console", "Returns a web page that shows the trial.", TEXT, media="text/html"),
    Operation(
        "get", "/console/{file}", "consoleFile", "Returns a file of that page; 304 where the client has it.", TEXT,
        media="text/javascript", parameters=(Parameter("file", "path", TEXT, "Its name."),),
    ),
    Operation("get", "/openapi.json", "openapi", "Returns this document.", {"type": "object"}, refused=False),
)  # fmt: skip
"""Everything that the game port serves over HTTP, and Serve's port as well."""

_COUNTS: Final[Schema] = {"type": "object", "additionalProperties": WHOLE}
_TEXTS: Final[Schema] = {"type": "array", "items": TEXT}
_DEGRADED: Final[Schema] = {"type": ["string", "null"], "description": "What keeps the event loop from running."}
_STUCK: Final[Schema] = {**_TEXTS, "description": "Calls of blocking agents that nobody waits for any more."}
_MEASURED: Final[Schema] = {
    "type": "array",
    "items": _object(
        name=TEXT, kind=TEXT, unit=TEXT, labels={"type": "object", "additionalProperties": TEXT}, count=WHOLE,
        sum={"type": "number"}, min=_NUMBER, max=_NUMBER, last=_NUMBER, not_finite=WHOLE,
        quantiles={"type": "array", "items": _NUMBER, "description": "Those of the ranks 0.5, 0.9 and 0.99."},
        buckets={"type": "array", "items": WHOLE},
    ),
    "description": "What was measured, by name and labels.",
}  # fmt: skip
_REPLICA: Final = _object(
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
_WEIGHTS: Final = _object(
    newest={"type": ["string", "null"]}, age_s=_AGE,
    versions={"type": "array", "items": _object(
        version=TEXT, age_s=_AGE, size_bytes=WHOLE, content_hash=TEXT, spec_hash=TEXT,
        parent={"type": ["string", "null"]}, pinned=WHOLE,
    )},
)  # fmt: skip
_NUMBER_OR_TEXT: Final[Schema] = {"type": ["number", "string"], "description": "Text where it is not finite."}
_NUMBER_OR_NONE: Final[Schema] = {"type": ["integer", "null"]}
_ALARM: Final = _object(
    check=TEXT, kind=TEXT, action=TEXT, model=TEXT, source=TEXT, field=TEXT, value=_NUMBER_OR_TEXT, allowed=TEXT,
    time_s={"type": "number"}, first_s={"type": "number"}, times=WHOLE, element=_NUMBER_OR_NONE,
    session={"type": ["string", "null"]}, tick=_NUMBER_OR_NONE, update=_NUMBER_OR_NONE, record={"type": "boolean"},
    details=_TEXTS, message=TEXT,
)  # fmt: skip
_SCHEMAS: Final[dict[str, Schema]] = {
    "Problem": _object(type=TEXT, title=TEXT, status=WHOLE, code=TEXT, detail=TEXT)
    | {"required": ["type", "title", "status", "code", "detail"]},
    "Health": _object(
        replica=TEXT, healthy={"type": "boolean"}, ready={"type": "boolean"}, degraded=_DEGRADED, stuck=_STUCK
    ),
    "Replica": _REPLICA,
    "Status": _object(**_REPLICA["properties"] | {"sessions": WHOLE, "purposes": _COUNTS}),
    "Node": _object(
        replicas={"type": "array", "items": _ref("Replica")}, silent=_TEXTS, sessions=WHOLE, connections=WHOLE,
        counts=_COUNTS, series=_MEASURED,
    ),
    "Series": _object(series={"type": "array", "items": _object(
        name=TEXT, unit=TEXT, kind=TEXT, labels={"type": "object", "additionalProperties": TEXT},
        values={"type": "object", "additionalProperties": _NUMBER},
        points={"type": "array", "items": {"type": "array", "items": {"type": "number"}}},
        histogram=_object(
            edges={"type": "array", "items": {"type": "number"}}, counts={"type": "array", "items": WHOLE}
        ),
    )}),
    "MetricNames": _object(metrics={"type": "array", "items": _object(
        name=TEXT, unit=TEXT, kind=TEXT, help=TEXT, labels=_TEXTS,
    )}),
    "Weights": _object(models={"type": "object", "additionalProperties": _WEIGHTS}),
    "Alarms": _object(alarms={"type": "array", "items": _ALARM}, forgotten=WHOLE),
    "League": _object(
        standings={"type": "array", "items": {"type": "object"}}, payoff={"type": "object"}, counts=_COUNTS,
        open_matches=WHOLE, championship={"type": "object"}, turns={"type": "object", "additionalProperties": TEXT},
        matches={"type": "array", "items": {"type": "object"}},
    ),
    "Errors": _object(errors={"type": "array", "items": _ref("Error")}, counts=_COUNTS),
    "Error": _object(
        number=WHOLE, count=WHOLE, first_s={"type": "number"}, time_s={"type": "number"}, level=TEXT, where=TEXT,
        trial=TEXT, process=TEXT, session=TEXT, message=TEXT, traceback={"type": ["string", "null"]},
    ),
    "Ring": _object(
        project=TEXT, trial=TEXT, mode=TEXT,
        parts={"type": "array", "items": _object(
            id=TEXT, kind=TEXT, name=TEXT, facts={"type": "object", "additionalProperties": TEXT},
        )},
        links={"type": "array", "items": _object(source=TEXT, target=TEXT, meaning=TEXT)},
    ),
    "Recordings": _object(
        folders=_TEXTS,
        recordings={"type": "array", "items": _object(
            id=TEXT, number=WHOLE, session=TEXT, game=TEXT, agent=TEXT, purpose=TEXT, why=TEXT,
            began_s={"type": "number"}, seconds={"type": "number"}, ticks=WHOLE, errors=WHOLE,
            returned={"type": ["number", "null"]}, versions=_TEXTS, cause={"type": ["string", "null"]},
        )},
    ),
    "Opponent": _object(player=TEXT, agent=TEXT, model_version={"type": ["string", "null"]}),
    "Session": _object(
        id=TEXT, game=TEXT, agent=TEXT, purpose=_PURPOSE, seq=WHOLE, idle_s={"type": "number"}, replica=TEXT
    ),
    "Page": _object(
        sessions={"type": "array", "items": _ref("Session")}, next={"type": ["string", "null"]}, silent=_TEXTS
    ),
}  # fmt: skip


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
        "components": {"schemas": _SCHEMAS},
    }


def _operation(operation: Operation) -> dict[str, Any]:
    parameters = operation.parameters + (_CREDENTIALS if operation.guarded else ())
    found: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "parameters": [_parameter(parameter) for parameter in parameters],
        "responses": {"200": _response("The answer.", operation.media, operation.answer)},
    }
    if operation.refused:
        errors = sorted(error_codes())
        description = f"Refused; the problem's code is one of {', '.join(errors)}."
        found["responses"]["default"] = _response(description, "application/problem+json", _ref("Problem"))
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
