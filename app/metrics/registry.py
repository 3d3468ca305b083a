"""All series of one process, a bounded number of them."""

import logging
import re
from collections.abc import Callable, Sequence
from typing import Final, Literal, NamedTuple, TypeVar

from app.metrics.metric import Labels, Metric, labels_of
from app.metrics.series import Part, RefusedSeries, Series, shown

SERIES_MAX: Final = 10_000
"""Series of one process: what Prometheus reads in a second."""
NAME_CHARACTERS_MAX: Final = 200
"""Longest name, and longest value of a label."""
LABELS_MAX: Final = 16
"""Labels of one series."""
RESERVED: Final = frozenset({"name", "replica", "actor", "quantile", "le"})
"""Labels that the service sets itself."""

SHOWN_CHARACTERS: Final = 400
"""Of a refused series in the log."""

T = TypeVar("T")
Reason = Literal["number", "name", "labels", "label", "value"]

_LABEL: Final = re.compile(r"[a-z][a-z0-9_]*")
_log = logging.getLogger(__name__)


class Refusal(NamedTuple):
    """Why there cannot be a series."""

    reason: Reason
    told: str
    """What, got, allowed."""


class Registry:
    """All series of a process; their number is bounded, and what is beyond is counted and told once."""

    def __init__(self, series_max: int = SERIES_MAX) -> None:
        """Makes one without series.

        Args:
          series_max: Most series.
        """
        self.series_max = series_max
        self._refused = RefusedSeries()
        self._series: dict[tuple[str, Labels], Series] = {}
        self._plain: dict[str, Series] = {}
        """Those without labels, by name alone."""
        self._told: set[Reason] = set()
        """Reasons for which a series was refused and told of."""

    @property
    def dropped(self) -> int:
        """Returns the number of values of refused series."""
        self._refused.reduce()
        return self._refused.dropped

    def __len__(self) -> int:
        return len(self._series)

    def series(self, metric: Metric | str, **labels: str) -> Series:
        """Returns the series of a metric with these labels, made if it is new; keep it where it is used often.

        Args:
          metric: What is measured; a name alone is a distribution without a unit.
          labels: Few values each: one series is kept for each combination. A refused one takes values and drops them.
        """
        name = metric if isinstance(metric, str) else metric.name
        key = (name, labels_of(labels))
        found = self._series.get(key)
        return self._new(metric, key) if found is None else found

    def record(self, name: str, value: float, **labels: str) -> None:
        """Takes one more value of a distribution, under a name and labels of the caller's choice."""
        found = None if labels else self._plain.get(name)
        if found is None:
            found = self.series(name, **labels)
            if not labels and found is not self._refused:
                self._plain[name] = found
        found.add(value)

    def growth(self) -> list[Part]:
        """Returns what has come to each series since the last call; those without are left out."""
        found = ((series, series.growth()) for series in list(self._series.values()))
        return [Part(series.metric, series.labels, growth) for series, growth in found if growth is not None]

    def take_back(self, parts: Sequence[Part]) -> None:
        """Takes growth that could not be told, to be told with the next."""
        for part in parts:
            self._series[part.metric.name, part.labels].take_back(part.summary)

    def read(self, look: Callable[[Part], T]) -> list[T]:
        """Returns what ``look`` makes of all that has come to each series; safe beside those who add, in any thread."""
        return [series.read(look) for series in list(self._series.values())]

    def whole(self) -> list[Part]:
        """Returns all that has come to each series since the start."""
        found = list(self._series.values())
        for series in found:
            series.reduce()
        return [Part(series.metric, series.labels, series.whole) for series in found]

    def _new(self, metric: Metric | str, key: tuple[str, Labels]) -> Series:
        name, labels = key
        refusal = self._refusal(name, labels)
        if refusal is not None:
            if refusal.reason not in self._told:  # Once for each reason: the rest is counted.
                self._told.add(refusal.reason)
                series = shown(name, labels)[:SHOWN_CHARACTERS]
                _log.warning("metric %s is dropped: %s; further ones are counted", series, refusal.told)
            return self._refused
        if isinstance(metric, str):
            metric = Metric(name, "distribution", "1", "Measured by the game's own code.")
        return self._series.setdefault(key, Series(metric, labels))

    def _refusal(self, name: str, labels: Labels) -> Refusal | None:
        """Returns why there cannot be such a series; None where there can."""
        if len(self._series) >= self.series_max:
            told = f"{self.series_max} series are kept, as many as are allowed; give labels fewer values"
            return Refusal("number", told)
        return _refusal(name, labels)


def _refusal(name: str, labels: Labels) -> Refusal | None:
    """Returns why there cannot be such a series; None where there can."""
    if not name or len(name) > NAME_CHARACTERS_MAX:
        return Refusal("name", f"its name has {len(name)} characters; allowed are 1 to {NAME_CHARACTERS_MAX}")
    if len(labels) > LABELS_MAX:
        return Refusal("labels", f"it has {len(labels)} labels; allowed are {LABELS_MAX}")
    for key, value in labels:
        if not _LABEL.fullmatch(key) or key in RESERVED:
            return Refusal(
                "label", f"label {key!r}; allowed are lower-case words but for {', '.join(sorted(RESERVED))}"
            )
        if not isinstance(value, str) or len(value) > NAME_CHARACTERS_MAX:
            told = f"value {value!r:.80} of label {key!r}; allowed is text of {NAME_CHARACTERS_MAX} characters"
            return Refusal("value", told)
    return None
