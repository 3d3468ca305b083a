"""Collects the trajectories of one replica into pushes: one call to the buffer costs as much as ten ticks."""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Final

import numpy as np

from app.agents.unroll import Row
from app.models.columns import nested_parts, target_columns
from app.models.spec import ModelSpec
from app.replay.rows import row_dtypes
from app.types import Rows

NESTED: Final = ("observation", "action", "action_mask", "state")
"""Fields of a row that have a column for each leaf."""


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
        self._nested = {name: part for name, part in nested_parts(spec).items() if len(part)}
        self._targets = target_columns(spec)
        self._push_rows = push_rows
        self._full = full
        self._rows: list[Row] = []

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def row_bytes(self) -> int:
        """Bytes of one row as columns."""
        return sum(dtype.itemsize * prod(shape) for dtype, shape in self._dtypes.values())

    def add(self, trajectory: list[Row]) -> None:
        """Appends a trajectory."""
        self._rows += trajectory
        if len(self._rows) >= self._push_rows:
            self._full()

    def take(self) -> Rows:
        """Takes all rows as columns."""
        rows, self._rows = self._rows, []
        fields = dict(zip(Row._fields, zip(*rows, strict=True), strict=True))
        columns: dict[str, Sequence[Any]] = {name: fields[name] for name in Row._fields if name not in NESTED}
        for name, part in self._nested.items():
            leaves = zip(*map(part.flatten, fields[name]), strict=True)
            columns |= dict(zip(part.columns(name), leaves, strict=True))
        for name, choices in self._targets.items():  # Zeros teach nothing: no search has judged these rows.
            columns[name] = [np.zeros(choices) if target is None else target for target in fields[name]]
        return {name: np.array(columns[name], dtype) for name, (dtype, _) in self._dtypes.items()}
