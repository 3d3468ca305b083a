import re

from prometheus_client.parser import text_string_to_metric_families

from app.errors import error_codes
from app.metrics import names
from app.metrics.names import METRICS, counted
from app.metrics.prometheus import Sample, exposition

Samples = dict[str, dict[tuple[tuple[str, str], ...], float]]
"""By name and labels."""


def parsed(text: bytes) -> Samples:
    """Returns the samples as Prometheus' own parser reads them."""
    families = text_string_to_metric_families(text.decode())
    samples = [sample for family in families for sample in family.samples]
    found: dict[str, dict[tuple[tuple[str, str], ...], float]] = {}
    for sample in samples:
        found.setdefault(sample.name, {})[tuple(sorted(sample.labels.items()))] = sample.value
    return found


def test_the_outside_parser_reads_back_what_was_exposed() -> None:
    samples = [
        Sample(names.TICKS, {"replica": "a", "purpose": "train"}, 7),
        Sample(names.LOOP_LAG, {"replica": "a"}, 0.125),
        Sample(names.TICKS, {"replica": "b", "purpose": "train"}, 2**60),
    ]
    assert parsed(exposition(samples)) == {
        "sparring_ticks_total": {
            (("purpose", "train"), ("replica", "a")): 7,
            (("purpose", "train"), ("replica", "b")): 2**60,
        },
        "sparring_loop_lag_seconds": {(("replica", "a"),): 0.125},
    }


def test_labels_are_escaped() -> None:
    nasty = 'a\\b"c\nd}e{f,g=h é'
    assert parsed(exposition([Sample(names.EVENTS, {"event": nasty}, 1)])) == {
        "sparring_events_total": {(("event", nasty),): 1}
    }


def test_a_family_is_declared_once_whatever_the_order_of_its_samples() -> None:
    samples = [Sample(m, {"replica": r}, 1) for r in "ab" for m in (names.UP, names.READY)]
    text = exposition(samples).decode()
    assert text.count("# TYPE sparring_replica_up gauge") == text.count("# HELP sparring_replica_up ") == 1
    assert text.index("sparring_replica_up") < text.index("sparring_replica_ready")


def test_values_that_are_not_finite_are_written_as_prometheus_reads_them() -> None:
    samples = [Sample(names.LOOP_LAG, {"replica": n}, v) for n, v in (("a", float("inf")), ("b", float("-inf")))]
    values = parsed(exposition([*samples, Sample(names.LOOP_LAG, {"replica": "c"}, float("nan"))]))
    assert list(values["sparring_loop_lag_seconds"].values())[:2] == [float("inf"), float("-inf")]
    assert values["sparring_loop_lag_seconds"][(("replica", "c"),)] != values


def test_names_follow_the_conventions_and_are_declared_once() -> None:
    assert len({metric.name for metric in METRICS}) == len(METRICS) > 20
    for metric in METRICS:
        assert re.fullmatch(r"sparring_[a-z_]+", metric.name)
        assert metric.name.endswith("_total") == (metric.kind == "counter")
        assert metric.name.endswith("_seconds") == (metric.unit == "s")


def test_every_counter_of_a_replica_has_a_metric() -> None:
    assert counted("ticks_train") == (names.TICKS, {"purpose": "train"})
    assert counted("closed_idle") == (names.CLOSED, {"cause": "idle"})
    assert counted("rows_dropped_unsent") == (names.ROWS_DROPPED, {"reason": "unsent"})
    assert counted("starts") == (names.STARTS, {})
    assert counted("something_new") == (names.EVENTS, {"event": "something_new"})
    for code in error_codes():
        assert counted(code) == (names.ERRORS, {"code": code})
