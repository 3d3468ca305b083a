"""Samples as the text that Prometheus reads (exposition format 0.0.4)."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from app.metrics.metric import Metric
from app.metrics.names import METRICS

CONTENT_TYPE: Final = b"text/plain; version=0.0.4; charset=utf-8"


class Sample(NamedTuple):
    """One value of a metric."""

    metric: Metric
    labels: Mapping[str, str]
    value: float
    suffix: str = ""
    """Behind the metric's name, such as ``_sum``."""
    last: tuple[str, str] | None = None
    """One more label, behind the others: that of a bucket or a quantile."""


_ORDER: Final = {metric.name: place for place, metric in enumerate(METRICS)}


def exposition(samples: Iterable[Sample]) -> bytes:
    """Returns the text of the samples: families in the order of their declaration, each with its help and kind."""
    families: dict[str, list[Sample]] = {}
    for sample in samples:
        families.setdefault(sample.metric.name, []).append(sample)
    lines: list[str] = []
    for name in sorted(families, key=_ORDER.__getitem__):
        metric = families[name][0].metric
        lines += [f"# HELP {name} {_escaped_help(metric.help)}", f"# TYPE {name} {_type(metric)}"]
        lines += _lines(families[name])
    return "".join(f"{line}\n" for line in lines).encode()


def _lines(samples: Sequence[Sample]) -> Iterator[str]:
    """Returns a line of each; the labels that neighbours share are written once."""
    shared: Mapping[str, str] | None = None
    text = ""
    for metric, labels, value, suffix, last in samples:
        if labels is not shared:
            shared, text = labels, ",".join([f'{name}="{_escaped_value(label)}"' for name, label in labels.items()])
        own = text if last is None else f'{text}{"," if text else ""}{last[0]}="{last[1]}"'
        yield f"{metric.name}{suffix}{{{own}}} {_number(value)}"


def _type(metric: Metric) -> str:
    if metric.kind != "distribution":
        return metric.kind
    return "histogram" if metric.bounds else "summary"


def _escaped_help(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def _escaped_value(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if value == int(value) else repr(float(value))
