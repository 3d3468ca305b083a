"""A series as a JSON object, and as the samples that Prometheus reads."""

import math
from collections.abc import Iterable, Mapping
from typing import Any, Final

from app.metrics import names
from app.metrics.metric import Metric
from app.metrics.prometheus import Sample
from app.metrics.series import Part
from app.metrics.summary import Summary

RANKS: Final = (0.5, 0.9, 0.99)
"""Quantiles that are shown without being asked for."""


def document_of(part: Part) -> dict[str, Any]:
    """Returns a series as a JSON object; what there is not yet is None."""
    summary = part.summary
    found: dict[str, Any] = {
        "name": part.metric.name,
        "kind": part.metric.kind,
        "unit": part.metric.unit,
        "labels": dict(part.labels),
        "count": summary.count,
        "sum": summary.sum,
        "min": _or_none(summary.min),
        "max": _or_none(summary.max),
        "last": _or_none(summary.last),
        "not_finite": summary.not_finite,
    }
    if part.metric.bounds:
        return found | {"buckets": list(summary.buckets)}
    if summary.bounds is not None:
        return found | {"quantiles": [_or_none(value) for value in summary.quantiles(RANKS)]}
    return found


def samples_of(document: Mapping[str, Any], own: Mapping[str, str]) -> Iterable[Sample]:
    """Returns the samples of such an object.

    Args:
      document: The series.
      own: Labels of whoever measured it.
    """
    name: str = document["name"]
    declared = names.BY_NAME.get(name)
    if declared is not None:
        yield from _declared(declared, document, {**own, **document["labels"]})
    elif name.startswith(names.LEARNED):
        labels = {**own, **document["labels"], "name": name.removeprefix(names.LEARNED)}
        yield from _declared(names.LEARNER, document, labels)
    else:
        yield from _measured(document, {**own, "name": name, **document["labels"]})
        return
    if document["not_finite"]:
        yield Sample(names.NOT_FINITE, {**own, "name": name}, document["not_finite"])


def _declared(metric: Metric, document: Mapping[str, Any], labels: Mapping[str, str]) -> Iterable[Sample]:
    match metric.kind:
        case "counter":
            yield Sample(metric, labels, document["sum"])
        case "gauge":
            if document["last"] is not None:
                yield Sample(metric, labels, document["last"])
        case "distribution":
            yield from _distribution(metric, labels, document)


def _measured(document: Mapping[str, Any], labels: Mapping[str, str]) -> Iterable[Sample]:
    """Returns what the game's own code has measured; bounds are there once there is a value."""
    yield from _distribution(names.MEASURE, labels, document)
    yield Sample(names.MEASURE_NOT_FINITE, labels, document["not_finite"])
    for metric, bound in ((names.MEASURE_MIN, document["min"]), (names.MEASURE_MAX, document["max"])):
        if bound is not None:
            yield Sample(metric, labels, bound)


def _distribution(metric: Metric, labels: Mapping[str, str], document: Mapping[str, Any]) -> Iterable[Sample]:
    """Returns buckets or quantiles, and sum and count."""
    below = 0
    for bound, count in zip((*metric.bounds, math.inf), document.get("buckets", ()), strict=False):
        below += count
        text = "+Inf" if math.isinf(bound) else f"{bound:g}"
        yield Sample(metric, labels, below, "_bucket", ("le", text))
    for rank, value in zip(RANKS, document.get("quantiles", ()), strict=False):
        if value is not None:
            yield Sample(metric, labels, value, "", ("quantile", f"{rank:g}"))
    yield Sample(metric, labels, document["sum"], "_sum")
    yield Sample(metric, labels, document["count"], "_count")


def merged(documents: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Returns series of several replicas with those of the same name and labels as one, without their quantiles."""
    found: dict[tuple[str, tuple[tuple[str, str], ...]], tuple[dict[str, Any], Summary]] = {}
    for one in documents:
        key = one["name"], tuple(sorted(one["labels"].items()))
        if key not in found:
            shown = {name: one[name] for name in ("name", "kind", "unit", "labels")}
            found[key] = shown, Summary(None)
        summary = Summary(None)
        summary.count, summary.sum, summary.not_finite = one["count"], one["sum"], one["not_finite"]
        if summary.count:
            summary.min, summary.max, summary.last = one["min"], one["max"], one["last"]
        found[key][1].merge(summary)
    return [
        shown
        | {"count": whole.count, "sum": whole.sum, "min": _or_none(whole.min), "max": _or_none(whole.max)}
        | {"not_finite": whole.not_finite}
        for shown, whole in found.values()
    ]


def _or_none(value: float) -> float | None:
    return value if math.isfinite(value) else None
