"""One series of a process: values go in one by one at the cost of an array, and come out reduced."""

import logging
import math
import threading
from array import array
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, TypeVar

from app.metrics.metric import Labels, Metric
from app.metrics.summary import LARGEST, Summary

PENDING_MAX: Final = 4096
"""Values that a series keeps before it reduces them itself: a second of a very busy one."""

T = TypeVar("T")

_log = logging.getLogger(__name__)


class Part(NamedTuple):
    """What one series saw in a while."""

    metric: Metric
    labels: Labels
    summary: Summary


class Series:
    """One metric with one set of labels; ``add`` is what the way of a tick may call."""

    __slots__ = ("_growth", "_lock", "_risen", "_told", "labels", "metric", "pending", "whole")

    def __init__(self, metric: Metric, labels: Labels) -> None:
        self.metric = metric
        self.labels = labels
        self.whole = Summary(metric.ranked())
        """What was reduced since the start."""
        self._growth = Summary(metric.ranked())
        self.pending = array("d")
        """What has come since it was reduced; always this object, so that its ``append`` may be bound."""
        self._lock = threading.Lock()
        self._told = False
        self._risen = 0.0

    def add(self, value: float) -> None:
        """Takes a value: how much a counter grows, how a gauge stands, or one more of a distribution; any thread.

        Raises:
          TypeError: It is no number.
        """
        try:
            self.pending.append(value)
        except OverflowError:  # A whole number that no float holds; it is counted as not finite.
            self.pending.append(math.inf if value > 0 else -math.inf)
        if len(self.pending) >= PENDING_MAX:
            self.reduce()

    def extend(self, values: Sequence[float]) -> None:
        """Takes several values at once, as ``add`` each."""
        self.pending.extend(values)
        if len(self.pending) >= PENDING_MAX:
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
            values = self.pending[:]  # Others may go on adding: only what is read is taken away.
            if not values:
                return
            del self.pending[: len(values)]
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


class RefusedSeries(Series):
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

    def reduce(self) -> None:
        """Counts the values of those who have bound ``pending``."""
        with self._lock:
            taken = len(self.pending)
            del self.pending[:taken]
            self.dropped += taken


def shown(name: str, labels: Labels) -> str:
    """Returns a series as Prometheus would write it."""
    return name + ("{" + ", ".join(f'{key}="{value}"' for key, value in labels) + "}" if labels else "")
