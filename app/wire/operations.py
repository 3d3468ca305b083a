"""Everything that the game port serves over HTTP, in one table."""

from dataclasses import dataclass
from typing import Final

from app.wire.openapi_schemas import ANYTHING, PURPOSE, TEXT, WHOLE, Schema, named, object_of
from app.wire.step_batches import MAX_BATCH_STEPS
from app.wire.step_fields import PROTOCOL
from app.words import StepKind


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


_KIND: Final[Schema] = {"type": "string", "enum": [*(str(kind) for kind in StepKind), "end"]}
CREDENTIALS: Final = (
    Parameter("key", "header", TEXT, "Access key, where the service asks for one."),
    Parameter("time", "header", WHOLE, "Unix seconds that the token signs."),
    Parameter("token", "header", TEXT, "Hex HMAC-SHA256 of key, time and session under the key's secret."),
)
_SHARED: Final = (
    Parameter("purpose", "header", PURPOSE, "Why the session is played; read at start."),
    Parameter("deadline_ms", "header", WHOLE, "Longest wait for an answer."),
    Parameter("protocol", "header", {"const": PROTOCOL}, "Version of this contract; another one is refused."),
    *CREDENTIALS,
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
    Parameter("purpose", "query", PURPOSE, "Only the sessions with this purpose."),
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
_ITEM: Final = object_of(
    session=TEXT,
    kind=_KIND,
    seq=WHOLE,
    purpose=PURPOSE,
    deadline_ms=WHOLE,
    body=ANYTHING,
    body_b64=TEXT,
    idempotency_key=TEXT,
)
_ANSWER: Final = object_of(session=TEXT, body=ANYTHING, body_b64=TEXT, error=object_of(code=TEXT, message=TEXT))

OPERATIONS: Final = (
    Operation("post", "/step", "step", "Answers one step.", ANYTHING, body=ANYTHING, parameters=_STEP),
    Operation(
        "post", "/steps", "steps", "Answers a frame of many games, in order.", {"type": "array", "items": _ANSWER},
        body={"type": "array", "items": _ITEM, "maxItems": MAX_BATCH_STEPS}, parameters=_SHARED,
    ),
    Operation("get", "/healthz", "health", "Tells whether the replica works; 503 where not.", named("Health")),
    Operation("get", "/readyz", "readiness", "Tells whether it takes new games; 503 where not.", named("Health")),
    Operation("get", "/status", "status", "Returns what one replica says of itself.", named("Status"), guarded=True),
    Operation(
        "get", "/weights", "weights", "Lists the models and the versions of their weights.", named("Weights"),
        guarded=True,
    ),
    Operation(
        "get", "/weights/{model}/{version}", "weightsFile",
        "Returns one version as a safetensors file, with its origin in the metadata; 304 where the client has it.",
        {"type": "string", "format": "binary"}, media="application/octet-stream", parameters=_FILE, guarded=True,
    ),
    Operation(
        "get", "/alarms", "alarms", "Returns what checks have found, the newest first.", named("Alarms"), guarded=True
    ),
    Operation(
        "get", "/league", "league", "Returns standings, payoff and the newest matches of the league.", named("League"),
        parameters=(Parameter("matches", "query", WHOLE, "How many matches, at most 1,000; none by default."),),
        guarded=True,
    ),
    Operation(
        "get", "/league/opponent", "opponent", "Returns a frozen player for a live game.", named("Opponent"),
        parameters=(
            Parameter("level", "query", {"type": "number"}, "From 0, the weakest, to 1, the strongest."),
            Parameter("rating", "query", {"type": "number"}, "The nearest one; without it and level the champion."),
        ),
        guarded=True,
    ),
    Operation("get", "/node", "node", "Returns what the replicas of this node say.", named("Node"), guarded=True),
    Operation(
        "get", "/replicas", "replicas", "Returns what the replicas of all nodes say, without what they have measured.",
        named("Node"), guarded=True,
    ),
    Operation(
        "get", "/sessions", "sessions", "Lists the open sessions, by id.", named("Page"), parameters=_PAGE,
        guarded=True,
    ),
    Operation(
        "get", "/sessions/{id}", "session", "Returns one open session.", named("Session"),
        parameters=(Parameter("id", "path", TEXT, "Id of the session, percent-encoded."),), guarded=True,
    ),
    Operation(
        "get", "/errors", "errors", "Returns what went wrong anywhere in the trial, the newest last.", named("Errors"),
        parameters=_ERRORS, guarded=True,
    ),
    Operation(
        "get", "/recordings", "recordings", "Lists the newest recorded games of this node.", named("Recordings"),
        parameters=(Parameter("newest", "query", WHOLE, "How many, 1 to 500; 50 by default."),), guarded=True,
    ),
    Operation(
        "get", "/recordings/{folder}/{name}/{number}", "recording", "Returns a page that plays one of them.", TEXT,
        media="text/html", guarded=True,
        parameters=tuple(Parameter(name, "path", TEXT, "Of its ``id``.") for name in ("folder", "name", "number")),
    ),
    Operation(
        "post", "/recordings", "record", "Records an open session, or the next games of this replica.",
        object_of(session=TEXT, agent=TEXT, games=WHOLE),
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
        named("Series"), parameters=_QUERY, guarded=True,
    ),
    Operation(
        "get", "/metrics/names", "metricsNames", "Lists the metrics of the whole trial.", named("MetricNames"),
        guarded=True,
    ),
    Operation(
        "get", "/ring", "ring", "Returns the parts of the trial and what goes from one to another.", named("Ring"),
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
