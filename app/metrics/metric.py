"""What a metric is: a name with kind, unit, meaning and, where it has them, the bounds of its buckets."""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["counter", "gauge", "distribution"]
"""``counter`` only grows, ``gauge`` is how things stand, ``distribution`` is many values of which each counts."""
Labels = tuple[tuple[str, str], ...]
"""Label names and values, by name."""


@dataclass(frozen=True, slots=True)
class Metric:
    """One family of series, which differ in their labels."""

    name: str
    """As Prometheus sees it: its unit is part of it, and ``_total`` ends a counter's."""
    kind: Kind
    unit: str
    """Unit of its values; ``1`` where they are counted."""
    help: str
    bounds: tuple[float, ...] = ()
    """Upper bounds of a distribution's buckets, ascending, the last one without; empty: quantiles alone."""

    def ranked(self) -> tuple[float, ...] | None:
        """Returns the bounds of a distribution; None for what has no quantiles."""
        return self.bounds if self.kind == "distribution" else None


def labels_of(labels: dict[str, str]) -> Labels:
    """Returns labels as a key, in order of their names."""
    return tuple(sorted(labels.items()))
