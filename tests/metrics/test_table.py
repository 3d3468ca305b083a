import math

import pytest

from app.errors import BadRequestError, NotFoundError
from app.metrics import names
from app.metrics.metric import Metric
from app.metrics.query import MetricQuery, query_of
from app.metrics.registry import Registry
from app.metrics.table import SeriesTable
from app.metrics.track import POINTS_MAX, SLOT_S

LATENCY = Metric("latency_seconds", "distribution", "s", "Latency.", (0.01, 0.1))
LOAD = Metric("load", "gauge", "1", "Load.")


def ask(table: SeriesTable, name: str, reduction: str, now_s: float = 1_000.0, **changes: object) -> list[float]:
    query = MetricQuery(name, reduce=(reduction,), **changes)  # type: ignore[arg-type]
    return [one["values"][reduction] for one in table.query(query, now_s)]


def told(*values: tuple[str, float]) -> SeriesTable:
    table = SeriesTable()
    for actor, value in values:
        table.add(LATENCY, {"actor": actor}, value, 1_000.0)
    return table


def test_series_are_filtered_and_grouped_by_labels() -> None:
    table = SeriesTable()
    for actor, map_, value in (("a", "x", 1.0), ("a", "y", 2.0), ("b", "x", 4.0)):
        table.add(LATENCY, {"actor": actor, "map": map_}, value, 1_000.0)
    assert ask(table, "latency_seconds", "sum") == [1, 2, 4]
    assert ask(table, "latency_seconds", "sum", by=()) == [7]
    assert ask(table, "latency_seconds", "sum", by=("actor",)) == [3, 4]
    assert ask(table, "latency_seconds", "mean", by=(), labels={"map": "x"}) == [2.5]
    assert ask(table, "latency_seconds", "mean", labels={"map": "z"}) == []
    answer = table.query(MetricQuery("latency_seconds", by=("actor",)), 1_000.0)
    assert [one["labels"] for one in answer] == [{"actor": "a"}, {"actor": "b"}]
    assert (answer[0]["unit"], answer[0]["kind"]) == ("s", "distribution")


def test_reports_of_many_processes_merge_into_one_series() -> None:
    table = SeriesTable()
    for values in ((1.0, 2.0), (3.0, 4.0, 5.0)):
        registry = Registry()
        for value in values:
            registry.record("x", value)
        table.merge(registry.growth(), 1_000.0)
    assert [ask(table, "x", r)[0] for r in ("mean", "count", "p50", "min", "max", "last")] == [3, 5, 3, 1, 5, 5]


def test_a_histogram_has_the_overflow_as_well() -> None:
    answer = told(("a", 0.001), ("a", 0.05), ("a", 9.0)).query(MetricQuery("latency_seconds", reduce=("histogram",)), 0)
    assert answer[0]["histogram"] == {"edges": [0.01, 0.1], "counts": [1, 1, 1]}


def test_a_window_looks_back_so_far_and_no_further() -> None:
    table = SeriesTable()
    for second in range(0, 60, SLOT_S):
        table.add(names.STARTS, {}, 2, float(second))
    assert ask(table, names.STARTS.name, "sum", now_s=60.0) == [24]
    assert ask(table, names.STARTS.name, "sum", now_s=60.0, window_s=20.0) == [8]
    assert ask(table, names.STARTS.name, "rate", now_s=60.0, window_s=20.0) == [0.4]
    assert ask(table, names.STARTS.name, "sum", now_s=900.0, window_s=20.0) == [0]


def test_gauges_of_several_processes_have_a_total_of_those_that_still_tell() -> None:
    table = SeriesTable()
    table.add(LOAD, {"replica": "gone"}, 100, 0.0)
    for replica, load in (("a", 1), ("b", 2), ("b", 5)):
        table.add(LOAD, {"replica": replica}, load, 500.0)
    assert ask(table, "load", "total", by=()) == [6]
    assert ask(table, "load", "last", labels={"replica": "b"}) == [5]
    table.forget("replica", "gone")
    assert len(table) == 2


def test_points_stand_at_time_step_or_samples() -> None:
    table = SeriesTable()
    for second, (step, samples, value) in enumerate([(1, 10, 3.0), (2, 20, 5.0)]):
        table.advance("main", step)
        table.play(samples)
        table.add(LOAD, {}, value, 100.0 + second)

    def points(**changes: object) -> list[list[float]]:
        query = MetricQuery("load", reduce=("mean",), **changes)  # type: ignore[arg-type]
        return [list(point) for point in table.query(query, 102.0)[0]["points"]]

    assert points() == [[100, 3], [101, 5]]
    assert points(axis="step") == [[1, 3], [2, 5]]
    assert points(axis="samples") == [[10, 3], [20, 5]]
    assert points(window_s=60.0) == [[101, 4]]


def test_points_of_a_group_add_up_what_stands_side_by_side() -> None:
    table = SeriesTable()
    for second in (100.0, 101.0):
        for replica in "ab":
            table.add(LOAD, {"replica": replica}, second - 98, second)
    answer = table.query(MetricQuery("load", by=(), reduce=("total",)), 102.0)
    assert answer[0]["points"] == [[100, 4], [101, 6]]
    assert table.query(MetricQuery("load", by=(), reduce=("total",), window_s=60), 102.0)[0]["points"] == [[101, 6]]


def test_a_long_life_has_a_bounded_number_of_points_that_hold_everything() -> None:
    table = SeriesTable()
    for second in range(5 * POINTS_MAX):
        table.add(names.STARTS, {}, 1, float(second))
    points = table.query(MetricQuery(names.STARTS.name, reduce=("sum",)), 2_000.0)[0]["points"]
    assert POINTS_MAX / 2 <= len(points) <= POINTS_MAX
    assert sum(y for _, y in points) == 5 * POINTS_MAX


def test_names_tell_unit_kind_and_labels() -> None:
    assert told(("a", 1.0)).names() == [
        {"name": "latency_seconds", "unit": "s", "kind": "distribution", "help": "Latency.", "labels": ["actor"]}
    ]


def test_only_so_many_series_are_kept_and_that_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    table = SeriesTable(series_max=1)
    for actor in "abca":
        table.add(LATENCY, {"actor": actor}, 1.0, 0.0)
    assert (len(table), table.dropped) == (1, 2)
    assert caplog.messages == [
        'metric latency_seconds{actor="b"} is dropped: the trial has 1 series, as many as are allowed; '
        "further ones are counted"
    ]


def test_what_is_not_known_is_answered_by_what_is() -> None:
    with pytest.raises(NotFoundError, match="metric 'nothing' has no series; known are latency_seconds"):
        told(("a", 1.0)).query(MetricQuery("nothing"), 0.0)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "name is missing"),
        ({"name": "x", "reduce": "mode"}, "reduce is 'mode'; allowed are mean"),
        ({"name": "x", "reduce": "p101"}, "reduce is 'p101'"),
        ({"name": "x", "window-s": "nan"}, "window_s is 'nan'"),
        ({"name": "x", "window-s": "1"}, "window_s is 1; allowed are 5 to 300"),
        ({"name": "x", "axis": "tick"}, "axis is 'tick'; allowed are time, step, samples"),
    ],
)
def test_a_query_that_cannot_be_is_refused(fields: dict[str, str], message: str) -> None:
    with pytest.raises(BadRequestError, match=message):
        query_of(fields)


def test_a_query_survives_the_fields_of_a_request() -> None:
    query = MetricQuery("x", {"my_label": "a b"}, ("map", "actor"), ("mean", "p99.9"), 30.0, "step")
    fields = {name.replace("_", "-"): value for name, value in query.fields().items()}
    assert query_of(fields) == query
    assert query_of({"name": "x", "by": ""}).by == ()


def test_what_is_not_finite_is_null() -> None:
    table = SeriesTable()
    table.add(LOAD, {}, math.nan, 0.0)
    answer = table.query(MetricQuery("load", reduce=("last", "min", "not_finite")), 1.0)[0]
    assert answer["values"] == {"last": None, "min": None, "not_finite": 1}
    assert answer["points"] == []
