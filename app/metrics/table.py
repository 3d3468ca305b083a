"""All series of a trial, merged from its processes, and the answers to queries."""

import logging
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from app.errors import NotFoundError
from app.metrics.group import Group
from app.metrics.metric import Labels, Metric, labels_of
from app.metrics.query import USUAL, MetricQuery, checked
from app.metrics.registry import SERIES_MAX
from app.metrics.series import Part, shown
from app.metrics.summary import Summary
from app.metrics.track import Moment, Track

TRAINER: Final = "trainer"
"""Label whose trainer's updates are the steps of a series."""
SHOWN_MAX: Final = 40
"""Names that an error lists."""

_log = logging.getLogger(__name__)


class SeriesTable:
    """Merges what processes report; the clock comes with each call."""

    def __init__(self, series_max: int = SERIES_MAX) -> None:
        """Makes an empty table.

        Args:
          series_max: Most series; what is beyond is counted in ``dropped`` and told once.
        """
        self._series_max = series_max
        self._tracks: dict[str, dict[Labels, Track]] = {}
        self._number = 0
        self.dropped = 0
        """Reports of series that there was no room for."""
        self._steps: dict[str, int] = {}
        """Newest update of each trainer."""
        self._samples = 0

    def __len__(self) -> int:
        return self._number

    def advance(self, trainer: str, step: int) -> None:
        """Notes a trainer's newest update."""
        self._steps[trainer] = step

    def play(self, samples: int) -> None:
        """Notes how many training ticks there were."""
        self._samples = samples

    def merge(self, parts: Iterable[Part], now_s: float, *, of_trial: bool = False) -> None:
        """Takes what a process has seen since its last report.

        Args:
          parts: The growth of its series.
          now_s: Unix seconds.
          of_trial: Whether no replica shows them to Prometheus.
        """
        for part in parts:
            track = self._track(part.metric, part.labels, now_s)
            if track is not None and track.whole.bounds == part.summary.bounds:
                track.of_trial |= of_trial
                track.add(part.summary, self._moment(part.labels, now_s))

    def add(
        self, metric: Metric, labels: Mapping[str, str], value: float, now_s: float, *, of_trial: bool = False
    ) -> None:
        """Takes one value; see ``merge``."""
        summary = Summary(metric.ranked())
        summary.add([value])
        self.merge([Part(metric, labels_of(dict(labels)), summary)], now_s, of_trial=of_trial)

    def forget(self, label: str, value: str) -> None:
        """Forgets the series of something that has ended, such as a replica."""
        for name, tracks in list(self._tracks.items()):
            kept = {labels: track for labels, track in tracks.items() if dict(labels).get(label) != value}
            self._number -= len(tracks) - len(kept)
            self._tracks[name] = kept
            if not kept:
                del self._tracks[name]

    def names(self) -> list[dict[str, Any]]:
        """Returns each metric with its unit, kind, help and the names of its labels, as JSON objects."""
        found = []
        for name, tracks in sorted(self._tracks.items()):
            metric = next(iter(tracks.values())).metric
            labels = sorted({key for labels in tracks for key, _ in labels})
            found.append(
                {"name": name, "unit": metric.unit, "kind": metric.kind, "help": metric.help, "labels": labels}
            )
        return found

    def query(self, query: MetricQuery, now_s: float) -> list[dict[str, Any]]:
        """Returns the series that answer a query, as JSON objects; none where none has such labels.

        Raises:
          BadRequestError: A part of the query is not allowed.
          NotFoundError: There is no such metric; the message names those that there are.
        """
        checked(query)
        tracks = self._tracks.get(query.name)
        if tracks is None:
            raise NotFoundError(f"metric {query.name[:200]!r} has no series; {self._known()}")
        wanted = [track for track in tracks.values() if query.labels.items() <= dict(track.labels).items()]
        groups: dict[Labels, list[Track]] = {}
        for track in wanted:
            own = dict(track.labels)
            by = own if query.by is None else {key: own.get(key, "") for key in query.by}
            groups.setdefault(labels_of(by), []).append(track)
        return [_answer(query, labels, found, now_s) for labels, found in sorted(groups.items())]

    def of_trial(self) -> list[Part]:
        """Returns all that has come to the series that no replica shows, since the start."""
        found = (track for tracks in self._tracks.values() for track in tracks.values() if track.of_trial)
        return [Part(track.metric, track.labels, track.whole) for track in found]

    def _known(self) -> str:
        names = sorted(self._tracks)
        more = f" and {len(names) - SHOWN_MAX} more" if len(names) > SHOWN_MAX else ""
        return f"known are {', '.join(names[:SHOWN_MAX])}{more}" if names else "nothing was measured yet"

    def _track(self, metric: Metric, labels: Labels, now_s: float) -> Track | None:
        tracks = self._tracks.get(metric.name)
        found = None if tracks is None else tracks.get(labels)
        if found is not None:
            return found
        if self._number >= self._series_max:
            self.dropped += 1
            if self.dropped == 1:
                _log.warning(
                    "metric %s is dropped: the trial has %d series, as many as are allowed; further ones are counted",
                    shown(metric.name, labels), self._number,
                )  # fmt: skip
            return None
        self._number += 1
        found = self._tracks.setdefault(metric.name, {})[labels] = Track(metric, labels, now_s)
        return found

    def _moment(self, labels: Labels, now_s: float) -> Moment:
        trainer = next((value for key, value in labels if key == TRAINER), None)
        step = max(self._steps.values(), default=0) if trainer is None else self._steps.get(trainer, 0)
        return Moment(now_s, step, self._samples)


def _answer(query: MetricQuery, labels: Labels, tracks: Sequence[Track], now_s: float) -> dict[str, Any]:
    metric = tracks[0].metric
    group = Group(tracks, query.window_s, now_s)
    wanted = query.reduce or USUAL[metric.kind]
    values = {reduction: group.value(reduction) for reduction in wanted if reduction != "histogram"}
    found: dict[str, Any] = {
        "name": metric.name,
        "unit": metric.unit,
        "kind": metric.kind,
        "labels": dict(labels),
        "values": {reduction: value if math.isfinite(value) else None for reduction, value in values.items()},
        "points": [[x, y] for x, y in group.points(wanted[0], query.axis) if math.isfinite(y)],
    }
    if "histogram" in wanted:
        edges, counts = group.whole.histogram()
        found["histogram"] = {"edges": edges, "counts": counts}
    return found
