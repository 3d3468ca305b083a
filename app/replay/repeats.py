"""Drops trajectories that were taken already: a game restored from a snapshot may send again what it had sent."""

from collections import OrderedDict
from typing import Final

import numpy as np

from app.types import RowKind, Rows

EPISODES_REMEMBERED: Final = 100_000
"""Newest episodes whose last tick is known: more than are played at a time."""


class Repeats:
    """Knows the last tick taken of each episode; an episode's trajectories come in the order of their ticks."""

    def __init__(self) -> None:
        self._last: OrderedDict[int, int] = OrderedDict()

    def without(self, rows: Rows) -> tuple[Rows, int]:
        """Returns the rows without the trajectories that repeat a tick, and how many rows those had.

        Args:
          rows: Whole trajectories, each ending in its bootstrap row.
        """
        ends = np.flatnonzero(rows["kind"] != RowKind.STEP)
        if not len(ends):
            return rows, 0
        starts = np.concatenate([np.zeros(1, ends.dtype), ends[:-1] + 1])
        episodes, ticks = rows["episode"], rows["tick"]
        keep = np.ones(len(rows["kind"]), bool)
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
            episode = int(episodes[start])
            if int(ticks[start]) <= self._last.get(episode, -1):
                keep[start : end + 1] = False
                continue
            self._last[episode] = int(ticks[max(end - 1, start)])
            self._last.move_to_end(episode)
        while len(self._last) > EPISODES_REMEMBERED:
            self._last.popitem(last=False)
        if keep.all():
            return rows, 0
        return {name: column[keep] for name, column in rows.items()}, int((~keep).sum())
