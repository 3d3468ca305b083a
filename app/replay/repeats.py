"""Drops trajectories that were taken already: a game restored from a snapshot may send again what it had sent."""

from collections import OrderedDict
from typing import Final, NamedTuple

import numpy as np

from app.types import RowKind, Rows

EPISODES_REMEMBERED: Final = 100_000
"""Newest episodes whose last tick is known: more than are played at a time."""


class Fresh(NamedTuple):
    """What is new among rows."""

    rows: Rows
    repeated_rows: int
    """Rows that were left out."""
    last_ticks: dict[int, int]
    """Last tick of each episode that has new rows."""


class Repeats:
    """Knows the last tick taken of each episode; an episode's trajectories come in the order of their ticks.

    ``without`` changes nothing: a push may still be refused. ``note`` is called with its findings when it was taken.
    """

    def __init__(self) -> None:
        self._last: OrderedDict[int, int] = OrderedDict()

    def without(self, rows: Rows) -> Fresh:
        """Returns what is new among rows: without the trajectories that repeat a tick.

        Args:
          rows: Whole trajectories, each ending in its bootstrap row.
        """
        ends = np.flatnonzero(rows["kind"] != RowKind.STEP)
        if not len(ends):
            return Fresh(rows, 0, {})
        starts = np.concatenate([np.zeros(1, ends.dtype), ends[:-1] + 1])
        last: dict[int, int] = {}
        repeated: list[tuple[int, int]] = []
        columns = (ends, rows["episode"][starts], rows["tick"][starts], rows["tick"][np.maximum(ends - 1, starts)])
        for start, end, episode, first, newest in zip(starts.tolist(), *(c.tolist() for c in columns), strict=True):
            if first <= last.get(episode, self._last.get(episode, -1)):
                repeated.append((start, end + 1))
            else:
                last[episode] = newest
        if not repeated:
            return Fresh(rows, 0, last)
        keep = np.ones(len(rows["kind"]), bool)
        for start, stop in repeated:
            keep[start:stop] = False
        return Fresh({name: column[keep] for name, column in rows.items()}, int((~keep).sum()), last)

    def note(self, fresh: Fresh) -> None:
        """Notes that rows were taken."""
        for episode, tick in fresh.last_ticks.items():
            self._last[episode] = tick
            self._last.move_to_end(episode)
        while len(self._last) > EPISODES_REMEMBERED:
            self._last.popitem(last=False)
