"""Collects the trajectories of one replica into pushes: one call to the buffer costs as much as ten ticks."""

from collections.abc import Callable

import numpy as np

from app.agents.unroll import Row
from app.models.spec import ModelSpec
from app.replay.rows import row_dtypes
from app.types import Rows


class Outbox:
    """Rows of many sessions, whole trajectories one behind another, waiting to be sent."""

    def __init__(self, spec: ModelSpec, push_rows: int, full: Callable[[], None]) -> None:
        """Makes an empty outbox.

        Args:
          spec: Shapes of the model's observations.
          push_rows: Rows from which on ``full`` is called.
          full: Told that it is worth sending.
        """
        self._dtypes = row_dtypes(spec)
        self._push_rows = push_rows
        self._full = full
        self._rows: list[Row] = []

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, trajectory: list[Row]) -> None:
        """Appends a trajectory."""
        self._rows += trajectory
        if len(self._rows) >= self._push_rows:
            self._full()

    def take(self) -> Rows:
        """Takes all rows as columns."""
        rows, self._rows = self._rows, []
        columns = dict(zip(Row._fields, zip(*rows, strict=True), strict=True))
        return {name: np.array(columns[name], dtype) for name, (dtype, _) in self._dtypes.items()}
