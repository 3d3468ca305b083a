"""Series of one process: values go in one by one at the cost of a list, and come out reduced."""

import logging
import re
import threading
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, TypeVar

from app.metrics.metric import Labels, Metric, labels_of
from app.metrics.summary import LARGEST, Summary

SERIES_MAX: Final = 10_000
"""Series of one process: what Prometheus reads in a second."""
NAME_CHARACTERS_MAX: Final = 200
"""Longest name, and longest value of a label."""
LABELS_MAX: Final = 16
"""Labels of one series."""
PENDING_MAX: Final = 4096
"""Values that a series keeps before it reduces them itself: a second of a very busy one."""
RESERVED: Final = frozenset({"name", "replica", "actor", "quantile", "le"})
"""Labels that the service sets itself."""

T = TypeVar("T")

_LABEL: Final = re.compile(r"[a-z][a-z0-9_]*")
_log = logging.getLogger(__name__)


class Part(NamedTuple):
    """What one series saw in a while."""

    metric: Metric
    labels: Labels
    summary: Summary


class Series:
    """One metric with one set of labels; ``add`` is what the way of a tick may call."""

    __slots__ = ("_growth", "_lock", "_pending", "_risen", "_told", "labels", "metric", "whole")

    def __init__(self, metric: Metric, labels: Labels) -> None:
        self.metric = metric
        self.labels = labels
        self.whole = Summary(metric.ranked())
        """What was reduced since the start."""
        self._growth = Summary(metric.ranked())
        self._pending: list[float] = []
        self._lock = threading.Lock()
        self._told = False
        self._risen = 0.0

    def add(self, value: float) -> None:
        """Takes a value: how much a counter grows, how a gauge stands, or one more of a distribution; any thread."""
        self._pending.append(value)
        if len(self._pending) >= PENDING_MAX:
            self.reduce()

    def extend(self, values: Sequence[float]) -> None:
        """Takes several values at once, as ``add`` each."""
        self._pending.extend(values)
        if len(self._pending) >= PENDING_MAX:
            self.reduce()

    def rise_to(self, total: float) -> None:
        """Takes how far a counter has come that somebody else counts; one that is smaller has begun anew."""
        growth = total - self._risen if total >= self._risen else total
        self._risen = total
        if growth:
            self.add(growth)

    def reduce(self) -> None:
        """Reduces what has come; what is not finite is counted, and told once by name."""
        with self._lock:
            values = self._pending[:]  # Others may go on adding: only what is read is taken away.
            if not values:
                return
            del self._pending[: len(values)]
            found = Summary(self.metric.ranked())
            found.add(values)
            self.whole.merge(found)
            self._growth.merge(found)
        if found.not_finite and not self._told:
            self._told = True
            wrong = next(value for value in values if not abs(value) <= LARGEST)
            _log.warning(
                "metric %s got %s; allowed are finite numbers, others are counted as not_finite",
                shown(self.metric.name, self.labels), wrong,
            )  # fmt: skip

    def read(self, look: Callable[["Part"], T]) -> T:
        """Returns what ``look`` makes of all that has come, which nobody changes meanwhile."""
        self.reduce()
        with self._lock:
            return look(Part(self.metric, self.labels, self.whole))

    def growth(self) -> Summary | None:
        """Returns what has come since the last call; None where nothing has."""
        self.reduce()
        with self._lock:
            if not self._growth.count and not self._growth.not_finite:
                return None
            growth, self._growth = self._growth, Summary(self.metric.ranked())
            return growth

    def take_back(self, growth: Summary) -> None:
        """Takes growth that could not be told, to be told with the next."""
        with self._lock:
            growth.merge(self._growth)
            self._growth = growth


class _Refused(Series):
    """Where the values of a series go that there is no room for."""

    __slots__ = ("dropped",)

    def __init__(self) -> None:
        super().__init__(Metric("refused", "gauge", "1", "Refused."), ())
        self.dropped = 0

    def add(self, value: float) -> None:
        """Counts a value."""
        self.dropped += 1

    def extend(self, values: Sequence[float]) -> None:
        """Counts values."""
        self.dropped += len(values)


class Registry:
    """All series of a process; their number is bounded, and what is beyond is counted and told once."""

    def __init__(self, series_max: int = SERIES_MAX) -> None:
        """Makes one without series.

        Args:
          series_max: Most series.
        """
        self.series_max = series_max
        self._refused = _Refused()
        self._series: dict[tuple[str, Labels], Series] = {}
        self._plain: dict[str, Series] = {}
        """Those without labels, and with the newest use first found: by name alone."""
        self._told: set[str] = set()

    @property
    def dropped(self) -> int:
        """Returns the values of refused series."""
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
        refused = _refusal(name, labels)
        if refused is None and len(self._series) >= self.series_max:
            refused = f"{self.series_max} series are kept, as many as are allowed; give labels fewer values"
        if refused is not None:
            self._tell(name, labels, refused)
            return self._refused
        if isinstance(metric, str):
            metric = Metric(name, "distribution", "1", "Measured by the game's own code.")
        return self._series.setdefault(key, Series(metric, labels))

    def _tell(self, name: str, labels: Labels, refused: str) -> None:
        kind = refused.partition(" ")[2][:20]  # Once for each reason: the rest is counted.
        if kind not in self._told:
            self._told.add(kind)
            _log.warning("metric %s is dropped: %s; further ones are counted", shown(name, labels)[:400], refused)


def shown(name: str, labels: Labels) -> str:
    """Returns a series as Prometheus would write it."""
    return name + ("{" + ", ".join(f'{key}="{value}"' for key, value in labels) + "}" if labels else "")


def _refusal(name: str, labels: Labels) -> str | None:
    """Returns why there cannot be such a series; None where there can."""
    if not name or len(name) > NAME_CHARACTERS_MAX:
        return f"its name has {len(name)} characters; allowed are 1 to {NAME_CHARACTERS_MAX}"
    if len(labels) > LABELS_MAX:
        return f"it has {len(labels)} labels; allowed are {LABELS_MAX}"
    for key, value in labels:
        if not _LABEL.fullmatch(key) or key in RESERVED:
            return f"label {key!r}; allowed are lower-case words but for {', '.join(sorted(RESERVED))}"
        if not isinstance(value, str) or len(value) > NAME_CHARACTERS_MAX:
            return f"value {value!r:.80} of label {key!r}; allowed is text of {NAME_CHARACTERS_MAX} characters"
    return None
