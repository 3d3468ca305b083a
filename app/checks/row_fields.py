"""The fields of a model's rows that can be checked."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.config.checks import ROW_FIELDS
from app.errors import ConfigError
from app.models.spec import ModelSpec
from app.replay.rows import row_dtypes
from app.replay.trajectories import STATE_PARTS, part_of
from app.types import Rows

REWARD_FIELDS = ("reward", "value")
"""Columns that have a number for each reward that a model names."""


@dataclass(frozen=True, slots=True)
class RowField:
    """One column of rows, or one number of it."""

    name: str
    """As the config calls it."""
    column: str
    elements: int
    """Numbers of a row."""
    dtype: np.dtype[np.generic]
    number: int | None = None
    """Which number of the column it is; None: all of them."""

    @property
    def of_state(self) -> bool:
        """Returns whether it describes a state, which the row behind a trajectory has too."""
        return part_of(self.column) in STATE_PARTS

    def belongs_to(self, field: str) -> bool:
        """Returns whether a check of a field is meant for it: it is that field, or one below."""
        return self.name == field or self.name.startswith(f"{field}/")

    def values(self, rows: Rows) -> NDArray[np.generic]:
        """Returns the field of all rows, [rows, elements]; a view."""
        column = rows[self.column].reshape(len(rows[self.column]), -1)
        return column if self.number is None else column[:, self.number : self.number + 1]


def row_fields(spec: ModelSpec) -> list[RowField]:
    """Returns all fields of a model's rows."""
    found: list[RowField] = []
    for column, (dtype, shape) in row_dtypes(spec).items():
        if part_of(column) not in ROW_FIELDS:
            continue
        if column in REWARD_FIELDS and spec.rewards:
            found += [RowField(f"{column}/{name}", column, 1, dtype, at) for at, name in enumerate(spec.rewards)]
        else:
            found.append(RowField(column, column, int(np.prod(shape)), dtype))
    return found


def selected(field: str, spec: ModelSpec, where: str) -> list[RowField]:
    """Returns the fields that a check names: the one of that name, or all below it.

    Args:
      field: As the config says.
      spec: The model's shapes.
      where: The key that says so, for the message.

    Raises:
      ConfigError: The model has none of that name.
    """
    if problem := field_problem(field, spec):
        raise ConfigError(f"{where}.field {problem}")
    return [one for one in row_fields(spec) if one.belongs_to(field)]


def field_problem(field: str, spec: ModelSpec) -> str | None:
    """Returns why rows do not have a field, and which they have; None where they have it."""
    known = row_fields(spec)
    if any(one.belongs_to(field) for one in known):
        return None
    return f"is {field!r}, which the model's rows do not have; allowed are {', '.join(one.name for one in known)}"
