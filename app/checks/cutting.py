"""Takes rows out of trajectories, so that nothing is learned across the hole."""

import numpy as np
from numpy.typing import NDArray

from app.checks.fault import Flags
from app.models.spec import ModelSpec
from app.replay.rows import empty_batch
from app.replay.trajectories import STATE_PARTS, part_of
from app.types import RowKind, Rows

NOTHING = ("reward", "log_prob", "value", "weight", "policy_target")
"""Columns that are 0 in a row that is no step."""


def real_rows(kinds: NDArray[np.generic]) -> Flags:
    """Returns which rows are steps or end a trajectory, [rows]; the others fill a batch."""
    step = kinds == RowKind.STEP
    real: Flags = step | np.concatenate([[False], step[:-1]])
    return real


def without(rows: Rows, spoilt_states: Flags, spoilt_steps: Flags) -> Rows:
    """Returns trajectories without some of their steps: each hole ends a trajectory, and another begins behind it.

    The piece before a hole bootstraps (``LOST``) from the state in which the missing step was taken; where that state
    is spoilt as well, from the one before, whose step is then lost too. A terminated end loses nothing with its last
    state, whose value is 0. A piece that has no step left is left out.

    Args:
      rows: Trajectories one behind another, each with its bootstrap row.
      spoilt_states: Rows whose observation, mask or recurrent state is of no use, [rows].
      spoilt_steps: Rows whose action, reward, or what else belongs to the step is of no use, [rows].
    """
    step: Flags = rows["kind"] == RowKind.STEP
    terminated = rows["kind"] == RowKind.TERMINATED
    reached = ~spoilt_states | terminated
    kept = step & ~spoilt_steps & ~spoilt_states & np.concatenate([reached[1:], [False]])
    follows = np.concatenate([[False], kept[:-1]])
    ends = follows & ~kept
    found = {name: column.copy() for name, column in rows.items()}
    _make_ends(found, np.flatnonzero(ends & step))
    _take_state(found, np.flatnonzero(ends & terminated & spoilt_states))
    left = kept | ends
    return {name: column[left] for name, column in found.items()}


def filled(rows: Rows, size: int, spec: ModelSpec) -> Rows:
    """Returns a model's rows as a batch of ``size`` rows, whose last ones are nothing to learn from."""
    padding = empty_batch(spec, size - len(rows["kind"]))
    return {name: np.concatenate([column, padding[name]]) for name, column in rows.items()}


def _make_ends(rows: Rows, at: NDArray[np.intp]) -> None:
    """Makes bootstrap rows of steps: what was done in them is forgotten."""
    for name, column in rows.items():
        part = part_of(name)
        if part in NOTHING:
            column[at] = 0
        elif part in ("action", "generation", "version"):
            column[at] = column[at - 1]
    rows["kind"][at] = RowKind.LOST


def _take_state(rows: Rows, at: NDArray[np.intp]) -> None:
    """Gives rows the state of the rows before them."""
    for name, column in rows.items():
        if part_of(name) in STATE_PARTS:
            column[at] = column[at - 1]
