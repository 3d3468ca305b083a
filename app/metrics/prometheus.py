"""Samples as the text that Prometheus reads (exposition format 0.0.4)."""

import math
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from app.metrics.names import METRICS, Metric

CONTENT_TYPE: Final = b"text/plain; version=0.0.4; charset=utf-8"


class Sample(NamedTuple):
    """One value of a metric."""

    metric: Metric
    labels: Mapping[str, str]
    value: float


def exposition(samples: Iterable[Sample]) -> bytes:
    """Returns the text of the samples: families in the order of their declaration, each with its help and kind."""
    families: dict[Metric, list[Sample]] = {}
    for sample in samples:
        families.setdefault(sample.metric, []).append(sample)
    lines: list[str] = []
    for metric in sorted(families, key=METRICS.index):
        lines += [f"# HELP {metric.name} {_escaped_help(metric.help)}", f"# TYPE {metric.name} {metric.kind}"]
        lines += [_line(sample) for sample in families[metric]]
    return "".join(f"{line}\n" for line in lines).encode()


def _line(sample: Sample) -> str:
    labels = ",".join(f'{name}="{_escaped_value(value)}"' for name, value in sample.labels.items())
    return f"{sample.metric.name}{{{labels}}} {_number(sample.value)}"


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
