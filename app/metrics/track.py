"""How one series went: since the start, in the newest minutes at full detail, and over its whole life more coarsely."""

import math
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from app.metrics.metric import Labels, Metric
from app.metrics.summary import Summary

SLOT_S: Final = 5
"""Seconds that are summarised together in the newest minutes."""
WINDOW_MAX_S: Final = 300
"""Longest window: what an alert or a chart of the present looks back at."""
POINTS_MAX: Final = 240
"""Points of a life: what a chart has room for. Beyond, two of them become one."""
POINT_S: Final = 1
"""Seconds of the first points of a life."""


class Moment(NamedTuple):
    """When something was told, on each axis."""

    time_s: float
    """Unix seconds."""
    step: int
    """Updates of the trainer."""
    samples: int
    """Training ticks."""


@dataclass(frozen=True, slots=True)
class Point:
    """What a series saw in a stretch of its life."""

    start_s: int
    moment: Moment
    """Of its newest value."""
    count: int
    sum: float
    min: float
    max: float
    last: float

    def with_later(self, later: "Point") -> "Point":
        """Returns this stretch and a later one as one."""
        low, high = min(self.min, later.min), max(self.max, later.max)
        count, total = self.count + later.count, self.sum + later.sum
        return replace(later, start_s=self.start_s, count=count, sum=total, min=low, max=high)


class Slot(NamedTuple):
    """What a series saw in ``SLOT_S`` seconds."""

    start_s: int
    moment: Moment
    summary: Summary


class Track:
    """One series in the metric store."""

    __slots__ = ("_life", "_recent", "first_s", "labels", "metric", "of_trial", "point_s", "whole")

    def __init__(self, metric: Metric, labels: Labels, now_s: float) -> None:
        self.metric = metric
        self.labels = labels
        self.of_trial = False
        """Whether no replica shows it to Prometheus."""
        self.first_s = now_s
        """When it began."""
        self.whole = Summary(metric.ranked())
        """Everything since the start."""
        self.point_s = POINT_S
        """Seconds of a point of its life."""
        self._recent: deque[Slot] = deque(maxlen=WINDOW_MAX_S // SLOT_S + 1)
        self._life: list[Point] = []

    def add(self, summary: Summary, now: Moment) -> None:
        """Takes what the series saw since the last time."""
        self.whole.merge(summary)
        start_s = int(now.time_s // SLOT_S) * SLOT_S
        if not self._recent or start_s > self._recent[-1].start_s:
            self._recent.append(Slot(start_s, now, Summary(self.metric.ranked())))
        self._recent[-1] = self._recent[-1]._replace(moment=now)
        self._recent[-1].summary.merge(summary)
        if summary.count:
            self._live_on(summary, now)

    @property
    def newest_s(self) -> float:
        """Returns when something came last."""
        return self._recent[-1].moment.time_s if self._recent else -math.inf

    def recent(self, since_s: float) -> list[Slot]:
        """Returns the slots that began no earlier."""
        return [slot for slot in self._recent if slot.start_s >= since_s]

    def life(self, point_s: int) -> list[Point]:
        """Returns all points, oldest first, of a number of seconds that is no smaller than ``point_s``."""
        return coarser(self._life, point_s)

    def _live_on(self, summary: Summary, now: Moment) -> None:
        start_s = int(now.time_s // self.point_s) * self.point_s
        point = Point(start_s, now, summary.count, summary.sum, summary.min, summary.max, summary.last)
        if self._life and self._life[-1].start_s >= start_s:
            self._life[-1] = self._life[-1].with_later(point)
            return
        self._life.append(point)
        while len(self._life) > POINTS_MAX:
            self.point_s *= 2
            self._life = coarser(self._life, self.point_s)


def coarser(points: Iterable[Point], point_s: int) -> list[Point]:
    """Returns points of so many seconds; those that fall into the same are one."""
    found: dict[int, Point] = {}
    for point in sorted(points, key=lambda point: point.moment.time_s):
        start_s = point.start_s // point_s * point_s
        earlier = found.get(start_s)
        found[start_s] = replace(point, start_s=start_s) if earlier is None else earlier.with_later(point)
    return [found[start_s] for start_s in sorted(found)]
