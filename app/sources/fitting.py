"""Brings stored values to the dtypes and shapes of a model's rows, or says why they do not fit."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.errors import SourceError
from app.models.spec import ModelSpec
from app.replay.rows import row_dtypes


@dataclass(frozen=True, slots=True)
class Field:
    """What a column may hold."""

    dtype: np.dtype[np.generic]
    shape: tuple[int, ...]
    """Of one row."""
    choices: int = 0
    """Values from 0 to below are allowed; 0: any."""

    def __str__(self) -> str:
        bound = f" from 0 to {self.choices - 1}" if self.choices else ""
        return f"{self.dtype} of shape {self.shape}{bound}"


def fields_of(spec: ModelSpec) -> dict[str, Field]:
    """Returns what each column of a model's rows may hold."""
    choices = {
        column: leaf.choices
        for column, leaf in zip(spec.actions.columns("action"), spec.actions.leaves, strict=True)
        if leaf.shape == () and leaf.choices
    }
    return {name: Field(dtype, shape, choices.get(name, 0)) for name, (dtype, shape) in row_dtypes(spec).items()}


def fitted(column: NDArray[np.generic], field: Field, where: str, name: str) -> NDArray[np.generic]:
    """Returns a column with a field's dtype.

    Floats may be rounded to shorter ones; whole numbers stay what they are, or are refused.

    Args:
      column: Rows of any kind of number.
      field: What they may be.
      where: File and place, for messages.
      name: Of the field.

    Raises:
      SourceError: A row has another shape, is not finite, or does not fit the dtype or the choices.
    """
    if column.shape[1:] != field.shape:
        if field.shape == () and column.shape[1:] == (1,):  # Numbers that are written as lists of one.
            column = column[:, 0]
        else:
            raise SourceError(f"{where}: {name} is {column.dtype} of shape {column.shape[1:]}; allowed is {field}")
    if column.dtype.kind == "f" and not np.isfinite(column).all():
        _refuse(~np.isfinite(column), column, field, where, name)
    cast = column
    if column.dtype != field.dtype:
        with np.errstate(over="ignore", invalid="ignore"):
            cast = column.astype(field.dtype)
        unlike = ~np.isfinite(cast) if field.dtype.kind == "f" else cast != column
        if unlike.any():
            _refuse(unlike, column, field, where, name)
    if field.choices and len(cast):
        beyond = (cast < 0) | (cast >= field.choices)  # type: ignore[operator]  # Whole numbers, as checked above.
        if beyond.any():
            _refuse(beyond, column, field, where, name)
    return cast


def _refuse(wrong: NDArray[np.bool_], column: NDArray[np.generic], field: Field, where: str, name: str) -> None:
    row = int(np.argmax(wrong.reshape(len(wrong), -1).any(axis=1)))
    value = column[row][wrong[row]].flat[0] if wrong.ndim > 1 else column[row]
    raise SourceError(f"{where}, row {row}: {name} holds {value}; allowed is {field}, finite")
