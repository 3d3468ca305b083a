"""Several series as one: their summaries merged, and their points."""

import math
from collections.abc import Sequence
from typing import Final

from app.metrics.query import PLAIN, Axis, rank_of
from app.metrics.summary import Summary
from app.metrics.track import SLOT_S, Moment, Point, Slot, Track, coarser

STALE_S: Final = 60.0
"""A gauge that was told so much earlier than the newest of its group is no longer so."""


class Group:
    """Series of one metric that a query takes together."""

    def __init__(self, tracks: Sequence[Track], window_s: float | None, now_s: float) -> None:
        """Merges them.

        Args:
          tracks: The series, at least one.
          window_s: Seconds to look back; None: since the start.
          now_s: Unix seconds.
        """
        self._tracks = sorted(tracks, key=lambda track: track.newest_s)
        self._window_s = window_s
        self._now_s = now_s
        self.whole = self._merged()
        """All that they saw in that time."""

    def value(self, reduction: str) -> float:
        """Returns one figure of them all; NaN where there is none."""
        rank = rank_of(reduction)
        if rank is not None:
            return self.whole.quantiles([rank])[0]
        match reduction:
            case "rate":
                return self.whole.sum / self._seconds()
            case "total":
                return self._total()
            case "not_finite":
                return float(self.whole.not_finite)
            case "min" | "max" if not self.whole.count:
                return math.nan
            case _:
                return float(getattr(self.whole, reduction))

    def points(self, reduction: str, axis: Axis) -> list[tuple[float, float]]:
        """Returns the figure over time, oldest first, with the axis's value of each moment.

        With a window, all figures; without one, quantiles are those of the newest minutes, since their sketches are
        kept no longer, and the life of the series is told by the others.
        """
        if reduction == "total":
            return [(_on(moment, axis), total) for moment, total in self._totals()]
        if self._window_s is None and reduction in (*PLAIN, "rate"):
            return [(_on(point.moment, axis), _of_point(point, reduction, self._point_s())) for point in self._life()]
        found = self._slots()
        return [(_on(moment, axis), _of_summary(summary, reduction)) for moment, summary in found]

    def _merged(self) -> Summary:
        whole = Summary(self._tracks[0].metric.ranked())
        for track in self._tracks:  # The newest value of all is that of the last one.
            if self._window_s is None:
                whole.merge(track.whole)
            else:
                for slot in track.recent(self._now_s - self._window_s):
                    whole.merge(slot.summary)
        return whole

    def _seconds(self) -> float:
        lived_s = self._now_s - min(track.first_s for track in self._tracks)
        return max(lived_s if self._window_s is None else min(self._window_s, lived_s), 1.0)

    def _total(self) -> float:
        newest_s = self._tracks[-1].newest_s
        live = [t.whole.last for t in self._tracks if newest_s - t.newest_s <= STALE_S and t.whole.count]
        return math.fsum(live) if live else math.nan

    def _point_s(self) -> int:
        return max(track.point_s for track in self._tracks)

    def _life(self) -> list[Point]:
        return coarser([point for track in self._tracks for point in track.life(self._point_s())], self._point_s())

    def _totals(self) -> list[tuple[Moment, float]]:
        """Returns the sum of how all stood, at each moment."""
        if self._window_s is None:
            stood = [(p.start_s, p.moment, p.last) for t in self._tracks for p in t.life(self._point_s())]
        else:
            since_s = self._now_s - self._window_s
            stood = [(s.start_s, s.moment, s.summary.last) for t in self._tracks for s in t.recent(since_s)]
        found: dict[int, tuple[Moment, float]] = {}
        for start_s, moment, last in sorted(stood):
            found[start_s] = moment, last + found.get(start_s, (moment, 0.0))[1]
        return [found[start_s] for start_s in sorted(found)]

    def _slots(self) -> list[tuple[Moment, Summary]]:
        since_s = -math.inf if self._window_s is None else self._now_s - self._window_s
        slots = [slot for track in self._tracks for slot in track.recent(since_s)]
        found: dict[int, list[Slot]] = {}
        for slot in sorted(slots, key=lambda slot: slot.moment.time_s):
            found.setdefault(slot.start_s, []).append(slot)
        merged = []
        for start_s in sorted(found):
            whole = Summary(self._tracks[0].metric.ranked())
            for slot in found[start_s]:
                whole.merge(slot.summary)
            merged.append((found[start_s][-1].moment, whole))
        return merged


def _on(moment: Moment, axis: Axis) -> float:
    match axis:
        case "time":
            return moment.time_s
        case "step":
            return float(moment.step)
        case "samples":
            return float(moment.samples)


def _of_point(point: Point, reduction: str, point_s: int) -> float:
    match reduction:
        case "mean":
            return point.sum / point.count
        case "rate":
            return point.sum / point_s
        case _:
            return float(getattr(point, reduction))


def _of_summary(summary: Summary, reduction: str) -> float:
    rank = rank_of(reduction)
    if rank is not None:
        return summary.quantiles([rank])[0]
    if reduction == "rate":
        return summary.sum / SLOT_S
    if reduction in ("histogram", "not_finite"):
        return summary.mean if reduction == "histogram" else float(summary.not_finite)
    if not summary.count and reduction in ("min", "max"):
        return math.nan
    return float(getattr(summary, reduction))
