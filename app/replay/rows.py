"""The columns that trajectories travel in: one layout from the actor to the learner."""

from collections.abc import Mapping

import numpy as np

from app.models.columns import mask_columns, target_columns
from app.models.distributions.distribution import Distribution
from app.models.spec import ArraySpec, ModelSpec
from app.nested import Structure
from app.types import RowKind, Rows

Columns = Mapping[str, tuple[np.dtype[np.generic], tuple[int, ...]]]
"""Dtype and shape of one row in each column."""


def row_dtypes(spec: ModelSpec) -> dict[str, tuple[np.dtype[np.generic], tuple[int, ...]]]:
    """Returns dtype and shape of one row in each column.

    ``weight`` is 1 for a step to learn from and 0 for a bootstrap row; ``episode`` and ``tick`` make a row unique;
    ``action_mask`` is 1 where the choice was allowed; ``state`` is that before the tick; ``policy_target``, where the
    spec announces it, is how probable each choice ought to be, and 0 throughout where no search judged the row. Where
    observation, action or state are nested, each leaf is a column of its own, such as ``observation/units``. Where the
    spec names rewards, ``reward`` and ``value`` have a number for each, in its order.
    """
    scalar: tuple[int, ...] = ()
    return {
        **_dtypes("observation", spec.inputs),
        **_dtypes("action", spec.actions),
        **{name: (np.dtype(np.uint8), (choices,)) for name, choices in mask_columns(spec).items()},
        **_dtypes("state", spec.states),
        "reward": (np.dtype(np.float32), spec.reward_shape),
        "log_prob": (np.dtype(np.float32), scalar),
        "value": (np.dtype(np.float32), spec.reward_shape),
        "kind": (np.dtype(np.int8), scalar),
        "weight": (np.dtype(np.float32), scalar),
        "generation": (np.dtype(np.int32), scalar),
        "version": (np.dtype(np.int32), scalar),
        "episode": (np.dtype(np.int64), scalar),
        "tick": (np.dtype(np.int32), scalar),
        **{name: (np.dtype(np.float32), (choices,)) for name, choices in target_columns(spec).items()},
    }


def empty_batch(spec: ModelSpec, rows: int) -> Rows:
    """Returns a batch of ``rows`` padding rows: weight 0, nothing to learn from."""
    batch = {name: np.zeros((rows, *shape), dtype) for name, (dtype, shape) in row_dtypes(spec).items()}
    batch["kind"][:] = RowKind.LOST
    for name in mask_columns(spec):
        batch[name][:] = 1
    return batch


def check_columns(rows: Rows, columns: Columns) -> int:
    """Returns the number of rows.

    Raises:
      ValueError: Their columns are others, or differ in length, dtype or shape.
    """
    if rows.keys() != columns.keys():
        raise ValueError(f"rows have the columns {', '.join(sorted(rows))}; allowed are {', '.join(sorted(columns))}")
    for name, (dtype, shape) in columns.items():
        got = rows[name]
        if got.dtype != dtype or got.shape[1:] != shape:
            raise ValueError(f"column {name!r} has rows of {got.dtype} {got.shape[1:]}, allowed are {dtype} {shape}")
    return count(rows)


def count(rows: Rows) -> int:
    """Returns the number of rows.

    Raises:
      ValueError: There is no column, or the columns differ in length.
    """
    lengths = {name: len(column) for name, column in rows.items()}
    if len(set(lengths.values())) != 1:
        raise ValueError(f"rows need columns of one length, got {lengths}")
    return next(iter(lengths.values()))


def _dtypes(
    name: str, part: Structure[ArraySpec] | Structure[Distribution]
) -> dict[str, tuple[np.dtype[np.generic], tuple[int, ...]]]:
    columns = part.columns(name)
    leaves: tuple[ArraySpec | Distribution, ...] = part.leaves
    return {column: (np.dtype(leaf.dtype), leaf.shape) for column, leaf in zip(columns, leaves, strict=True)}
