import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson
import pytest

from app.metrics.documents import document_of
from app.metrics.prometheus import exposition
from app.metrics.registry import Registry
from app.metrics.reports import NodeReport, ReplicaReport

from .test_prometheus import parsed

ONE = ReplicaReport(
    replica="one", actor="main", application="sparring", host="127.0.0.1", port=36390, pid=7, healthy=True, ready=True,
    sessions={"train": 3, "play": 1}, open_connections=2, connections={"http": 5}, loop_lag_s=0.01, loop_blocks=1,
    counts={"ticks_train": 100, "overloaded": 2}, versions={"main": "2.57"}, weights_age_s={"main": 1.5},
)  # fmt: skip
TWO = replace(ONE, replica="two", counts={"ticks_train": 11}, degraded="blocked in on_tick (agents.py:3)", ready=False)


def test_a_report_survives_json_and_fields_that_it_does_not_know() -> None:
    assert ReplicaReport.parse(orjson.loads(orjson.dumps(ONE.as_dict())) | {"from_the_future": 1}) == replace(
        ONE, series=[]
    )


def test_what_lacks_a_field_is_no_report() -> None:
    with pytest.raises(ValueError, match="lacks a field"):
        ReplicaReport.parse({"replica": "one"})


def test_a_node_sums_its_replicas() -> None:
    document = NodeReport([ONE, TWO], ["three"]).as_dict()
    assert document["counts"] == {"ticks_train": 111, "overloaded": 2}
    assert (document["sessions"], document["connections"], document["silent"]) == (8, 4, ["three"])


def test_the_sum_over_replicas_of_a_counter_is_the_nodes_total() -> None:
    found = parsed(exposition(NodeReport([ONE, TWO], ["three"]).samples()))
    assert sum(found["sparring_ticks_total"].values()) == 111
    assert {dict(labels)["replica"] for labels in found["sparring_ticks_total"]} == {"one", "two"}
    assert found["sparring_errors_total"] == {(("actor", "main"), ("code", "overloaded"), ("replica", "one")): 2}


def test_a_silent_replica_is_a_gauge_and_no_error() -> None:
    found = parsed(exposition(NodeReport([ONE], ["three"]).samples()))
    assert found["sparring_replica_up"] == {(("replica", "one"),): 1, (("replica", "three"),): 0}
    assert found["sparring_node_replicas_silent"] == {(): 1}
    assert found["sparring_node_replicas"] == {(): 2}


def test_versions_and_their_age_are_shown_per_model() -> None:
    found = parsed(exposition(NodeReport([ONE]).samples()))
    labels = (("actor", "main"), ("model", "main"), ("replica", "one"))
    assert found["sparring_weights_generation"] == {labels: 2}
    assert found["sparring_weights_number"] == {labels: 57}
    assert found["sparring_weights_age_seconds"] == {labels: 1.5}


def test_connections_and_keys_are_counted() -> None:
    usage = {"studio": {"steps": 7, "sessions": 2, "refused_token": 1}}
    found = parsed(exposition(NodeReport([replace(ONE, usage=usage)]).samples()))
    own = (("actor", "main"), ("key", "studio"), ("replica", "one"))
    assert found["sparring_key_steps_total"] == {own: 7}
    assert found["sparring_key_sessions"] == {own: 2}
    assert list(found["sparring_key_refusals_total"].values()) == [1]
    assert sum(found["sparring_connections_total"].values()) == 5


def measured(*values: float) -> Sequence[Mapping[str, Any]]:
    registry = Registry()
    for value in values:
        registry.record("episode/ticks", value, map="desert")
    return [document_of(part) for part in registry.whole()]


def test_measures_are_labelled_by_name_and_added_up_for_the_node() -> None:
    node = NodeReport([replace(ONE, series=measured(1, 5)), replace(TWO, series=measured(-1, math.inf))])
    total = {"count": 3, "sum": 5.0, "min": -1, "max": 5, "not_finite": 1}
    one_series = {"name": "episode/ticks", "kind": "distribution", "unit": "1", "labels": {"map": "desert"}}
    assert orjson.loads(orjson.dumps(node.as_dict()))["series"] == [one_series | total]
    found = parsed(exposition(node.samples()))
    one = (("actor", "main"), ("map", "desert"), ("name", "episode/ticks"), ("replica", "one"))
    assert [found[f"sparring_measure_{what}"][one] for what in ("count", "sum", "min", "max")] == [2, 6, 1, 5]
    assert sum(found["sparring_measure_count"].values()) == 3
    assert sum(found["sparring_measure_not_finite_total"].values()) == 1
    median = tuple(sorted((*one, ("quantile", "0.5"))))
    assert found["sparring_measure"][median] == 3


def test_a_measure_without_a_finite_value_has_no_bounds() -> None:
    found = parsed(exposition(NodeReport([replace(ONE, series=measured(math.nan))]).samples()))
    assert list(found["sparring_measure_sum"].values()) == [0]
    assert "sparring_measure_min" not in found


def test_a_blocked_replica_is_degraded() -> None:
    found = parsed(exposition(NodeReport([ONE, TWO]).samples()))
    assert sorted(found["sparring_replica_degraded"].values()) == [0, 1]


def test_there_is_no_age_of_weights_before_the_first_came() -> None:
    found = replace(ONE, weights_age_s={"main": None, "other": 0.0})
    shown = parsed(exposition(NodeReport([found]).samples()))
    assert [dict(labels)["model"] for labels in shown["sparring_weights_age_seconds"]] == ["other"]
