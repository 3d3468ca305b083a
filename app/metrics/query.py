"""What is asked of metrics: which series, grouped how, reduced to what, over which time."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, get_args

from app.errors import BadRequestError
from app.metrics.metric import Kind
from app.metrics.track import SLOT_S, WINDOW_MAX_S
from app.numbers import finite

Axis = Literal["time", "step", "samples"]
"""``time`` is Unix seconds, ``step`` updates of the trainer, ``samples`` training ticks."""

PLAIN: Final = ("mean", "sum", "count", "min", "max", "last")
"""Reductions of points as well as of everything."""
REDUCTIONS: Final = (*PLAIN, "rate", "total", "not_finite", "histogram")
"""All but quantiles: ``p50`` or ``p99.9``."""
USUAL: Final[Mapping[Kind, tuple[str, ...]]] = {
    "counter": ("sum",), "gauge": ("last",), "distribution": ("mean",),
}  # fmt: skip
"""What is meant where nothing is said."""
LABEL: Final = "label."
"""Begins the name of a field that names a label's value."""

_QUANTILE: Final = re.compile(r"p(\d{1,2}(\.\d{1,3})?|100)")


@dataclass(frozen=True, slots=True)
class MetricQuery:
    """One question."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    """Values that labels must have."""
    by: tuple[str, ...] | None = None
    """Labels whose values make groups, empty for one group; None leaves each series on its own."""
    reduce: tuple[str, ...] = ()
    """What is wanted of each; the first is that of the points as well. Empty: the usual of its kind."""
    window_s: float | None = None
    """Seconds to look back; None: since the start."""
    axis: Axis = "time"

    def fields(self) -> dict[str, str]:
        """Returns the query as fields of a request."""
        found = {"name": self.name, "axis": self.axis} | {LABEL + key: value for key, value in self.labels.items()}
        if self.by is not None:
            found["by"] = ",".join(self.by)
        if self.reduce:
            found["reduce"] = ",".join(self.reduce)
        return found if self.window_s is None else found | {"window_s": f"{self.window_s:g}"}


def rank_of(reduction: str) -> float | None:
    """Returns the rank of a quantile such as ``p99``; None for what is none."""
    found = _QUANTILE.fullmatch(reduction)
    return None if found is None else float(found[1]) / 100


def checked(query: MetricQuery) -> MetricQuery:
    """Returns the query.

    Raises:
      BadRequestError: A part of it is not allowed.
    """
    for reduction in query.reduce:
        if reduction not in REDUCTIONS and rank_of(reduction) is None:
            raise BadRequestError(f"reduce is {reduction[:40]!r}; allowed are {', '.join(REDUCTIONS)}, p0 to p100")
    window_s = query.window_s
    if window_s is not None and not SLOT_S <= window_s <= WINDOW_MAX_S:
        raise BadRequestError(f"window_s is {window_s:g}; allowed are {SLOT_S} to {WINDOW_MAX_S}, or none")
    if query.axis not in get_args(Axis):
        raise BadRequestError(f"axis is {query.axis[:40]!r}; allowed are {', '.join(get_args(Axis))}")
    return query


def query_of(fields: Mapping[str, str]) -> MetricQuery:
    """Returns the query of a request's fields, whose names are lower case with ``-`` for ``_``.

    Raises:
      BadRequestError: It names no metric, or a part of it is not allowed.
    """
    if not fields.get("name"):
        raise BadRequestError("name is missing; allowed is the name of a metric that /metrics/names lists")
    labels = {key.removeprefix(LABEL).replace("-", "_"): v for key, v in fields.items() if key.startswith(LABEL)}
    axis: str = fields.get("axis", "time")
    return checked(
        MetricQuery(
            name=fields["name"],
            labels=labels,
            by=None if "by" not in fields else _words(fields["by"]),
            reduce=_words(fields.get("reduce", "")),
            window_s=finite("window_s", fields.get("window-s")),
            axis=axis,  # type: ignore[arg-type]  # Checked right after.
        )
    )


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())
