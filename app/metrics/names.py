"""Every metric that the service exposes: name, kind, unit and meaning, declared here and nowhere else."""

from typing import Final

from app.errors import error_codes
from app.metrics.metric import Metric

UP: Final = Metric(
    "sparring_replica_up", "gauge", "1", "1 for a replica of this node that answered, 0 for a silent one."
)
READY: Final = Metric("sparring_replica_ready", "gauge", "1", "1 while the replica takes new games.")
DEGRADED: Final = Metric("sparring_replica_degraded", "gauge", "1", "1 while the replica's event loop is blocked.")
LOOP_LAG: Final = Metric("sparring_loop_lag_seconds", "gauge", "s", "Longest recent delay of the replica's event loop.")
LOOP_BLOCKS: Final = Metric("sparring_loop_blocks_total", "counter", "1", "Times that the event loop stood still.")
STUCK: Final = Metric("sparring_stuck_calls", "gauge", "1", "Calls of blocking agents that run and nobody waits for.")
SESSIONS: Final = Metric("sparring_sessions", "gauge", "1", "Open sessions by purpose.")
CONNECTIONS: Final = Metric("sparring_connections", "gauge", "1", "Open connections of the game port.")
CONNECTIONS_TOTAL: Final = Metric(
    "sparring_connections_total", "counter", "1", "Connections of the game port by kind and by what became of them."
)
WEIGHTS_GENERATION: Final = Metric(
    "sparring_weights_generation", "gauge", "1", "Generation of the weights that answer: the trainer's starts."
)
WEIGHTS_NUMBER: Final = Metric(
    "sparring_weights_number", "gauge", "1", "Number of the weights that answer, within their generation."
)
WEIGHTS_AGE: Final = Metric(
    "sparring_weights_age_seconds",
    "gauge",
    "s",
    "Time since the newest weights of a model came, whether they answer or not.",
)

TICKS: Final = Metric("sparring_ticks_total", "counter", "1", "Ticks answered by purpose.")
STARTS: Final = Metric("sparring_starts_total", "counter", "1", "Sessions started.")
STOPS: Final = Metric("sparring_stops_total", "counter", "1", "Sessions that their game core has stopped.")
AUTOS: Final = Metric("sparring_autos_total", "counter", "1", "Observations answered without a session.")
CLOSED: Final = Metric("sparring_closed_total", "counter", "1", "Sessions that the service has ended, by cause.")
ERRORS: Final = Metric("sparring_errors_total", "counter", "1", "Refused steps by code of the wire contract.")
ROWS_PUSHED: Final = Metric("sparring_rows_pushed_total", "counter", "1", "Rows sent to a buffer.")
ROWS_DROPPED: Final = Metric("sparring_rows_dropped_total", "counter", "1", "Rows lost before a buffer, by reason.")
PUSHES_REFUSED: Final = Metric(
    "sparring_pushes_refused_total", "counter", "1", "Pushes that a full shard of a buffer has refused for the moment."
)
BUFFER_LINKS: Final = Metric(
    "sparring_buffer_links", "gauge", "1", "Shards of a buffer that the replica sends rows to, by buffer."
)
EVENTS: Final = Metric("sparring_events_total", "counter", "1", "Whatever else a replica counts, by name.")

KEY_STEPS: Final = Metric("sparring_key_steps_total", "counter", "1", "Steps admitted by access key.")
KEY_SESSIONS: Final = Metric("sparring_key_sessions", "gauge", "1", "Open sessions by access key.")
KEY_REFUSALS: Final = Metric("sparring_key_refusals_total", "counter", "1", "Refused steps by access key and reason.")

MEASURE: Final = Metric(
    "sparring_measure", "distribution", "1", "Values that the game's own code has measured, by name and its labels."
)
MEASURE_MIN: Final = Metric("sparring_measure_min", "gauge", "1", "Smallest value that was measured, by name.")
MEASURE_MAX: Final = Metric("sparring_measure_max", "gauge", "1", "Largest value that was measured, by name.")
MEASURE_NOT_FINITE: Final = Metric(
    "sparring_measure_not_finite_total", "counter", "1", "Measured values that were infinite or NaN, by name."
)

NOT_FINITE: Final = Metric(
    "sparring_metric_not_finite_total", "counter", "1", "Values of our own metrics that were infinite or NaN, by name."
)

NODE_REPLICAS: Final = Metric("sparring_node_replicas", "gauge", "1", "Replicas on this node, silent ones included.")
NODE_SILENT: Final = Metric("sparring_node_replicas_silent", "gauge", "1", "Replicas that did not answer this scrape.")
NODE_SESSIONS: Final = Metric("sparring_node_sessions", "gauge", "1", "Open sessions of the replicas that answered.")
NODE_CONNECTIONS: Final = Metric(
    "sparring_node_connections", "gauge", "1", "Open connections of the replicas that answered."
)

LEAGUE_RATING: Final = Metric("sparring_league_rating", "gauge", "1", "Rating of each player of the league.")
LEAGUE_WIN_RATE: Final = Metric(
    "sparring_league_win_ratio", "gauge", "1", "Share of its games that each player of the league has won; half a draw."
)
LEAGUE_MATCHES: Final = Metric("sparring_league_matches_total", "counter", "1", "Matches by what became of them.")
LEAGUE_OPEN: Final = Metric("sparring_league_matches_open", "gauge", "1", "Matches that have no result yet.")

STORE_STARTED: Final = Metric(
    "sparring_store_start_time_seconds", "gauge", "s", "When a process of stores has started, in Unix seconds."
)

LATENCY_BOUNDS_S: Final = (0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0)
"""From a fifth of a millisecond, the least that a tick takes, to the longest that game cores wait for."""
ROWS_BOUNDS: Final = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
"""Sizes of batches."""

TICK_SECONDS: Final = Metric(
    "sparring_tick_seconds",
    "distribution",
    "s",
    "Time of answered ticks by part: queue waits for earlier steps, agent answers, model is each decision in it.",
    LATENCY_BOUNDS_S,
)
MODEL_BATCH_SECONDS: Final = Metric(
    "sparring_model_batch_seconds",
    "distribution",
    "s",
    "Time of a model's batches, the way there included.",
    LATENCY_BOUNDS_S,
)
MODEL_BATCH_ROWS: Final = Metric(
    "sparring_model_batch_rows", "distribution", "1", "Observations of a model's batches.", ROWS_BOUNDS
)
GAMES: Final = Metric("sparring_games", "gauge", "1", "Games with an open session.")
LEARNED: Final = "learner/"
"""Begins the names of what a trainer's updates tell."""
UPDATES: Final = Metric("sparring_updates_total", "counter", "1", "Updates of a trainer.")
LEARNER: Final = Metric(
    "sparring_learner", "gauge", "1", "Newest value of what a trainer's updates tell, by name: losses and so on."
)
LEARNER_BUSY: Final = Metric(
    "sparring_learner_busy_ratio",
    "gauge",
    "1",
    "Share of the time in which a worker learns instead of waiting for rows.",
)
PUBLISH_SECONDS: Final = Metric(
    "sparring_publish_seconds", "distribution", "s", "Time until the weight store has a version.", LATENCY_BOUNDS_S
)
BUFFER_ROWS: Final = Metric(
    "sparring_buffer_rows", "gauge", "1", "Rows that a shard of a buffer holds; items of a table."
)
BUFFER_INSERTED: Final = Metric("sparring_buffer_rows_inserted_total", "counter", "1", "Rows that came into a buffer.")
BUFFER_SAMPLED: Final = Metric(
    "sparring_buffer_rows_sampled_total", "counter", "1", "Rows handed out, each as often as it was: reuse."
)
BUFFER_DROPPED: Final = Metric(
    "sparring_buffer_rows_dropped_total", "counter", "1", "Rows that a buffer had no room for."
)
BUFFER_REPEATED: Final = Metric(
    "sparring_buffer_rows_repeated_total", "counter", "1", "Rows that a buffer had already, of restored games."
)

SHADOW_COMPARED: Final = Metric(
    "sparring_shadow_compared_total", "counter", "1", "Answers of a released model's shadow that were compared."
)
SHADOW_AGREED: Final = Metric(
    "sparring_shadow_agreed_total", "counter", "1", "Those that chose what the version chose that was played."
)

EPISODE_RETURN: Final = Metric(
    "sparring_episode_return", "distribution", "1", "Returns of finished episodes, by purpose and agent."
)
EPISODE_TICKS: Final = Metric(
    "sparring_episode_ticks", "distribution", "1", "Ticks of finished episodes, by purpose and agent."
)

METRICS: Final = tuple(value for value in list(globals().values()) if isinstance(value, Metric))
"""All of them, in the order in which they are exposed."""

BY_NAME: Final = {metric.name: metric for metric in METRICS}
"""The same by name."""

_WHOLE: Final = {
    "starts": STARTS,
    "stops": STOPS,
    "autos": AUTOS,
    "rows_pushed": ROWS_PUSHED,
    "pushes_refused": PUSHES_REFUSED,
}
_PREFIXES: Final = {
    "ticks_": (TICKS, "purpose"),
    "closed_": (CLOSED, "cause"),
    "rows_dropped_": (ROWS_DROPPED, "reason"),
}


def counted(key: str) -> tuple[Metric, dict[str, str]]:
    """Returns the metric and the labels of one of a replica's own counters; none is left out."""
    if key in _WHOLE:
        return _WHOLE[key], {}
    for prefix, (metric, label) in _PREFIXES.items():
        if key.startswith(prefix):
            return metric, {label: key.removeprefix(prefix)}
    return (ERRORS, {"code": key}) if key in error_codes() else (EVENTS, {"event": key})
