"""From a stored episode to a trajectory in the columns of ``app.replay.rows``."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from app.errors import SourceError
from app.replay.trajectories import part_of
from app.sources.fitting import Field, fitted
from app.sources.stored import NEXT_OBSERVATION, Columns, Stored
from app.types import RowKind, Rows

FILLED = (
    "action_mask",
    "state",
    "log_prob",
    "value",
    "weight",
    "generation",
    "version",
    "episode",
    "tick",
    "policy_target",
)
"""Parts that may be missing: everything is allowed, and numbers are 0; steps weigh 1 and are counted."""
NOTHING_DONE = ("reward", "log_prob", "value", "weight", "policy_target")
"""Columns that are 0 in a bootstrap row."""


def trajectory(stored: Stored, fields: Mapping[str, Field] | None, number: int) -> Rows | None:
    """Returns steps and bootstrap row behind one another; None where there is no step whose next state is known.

    Without the state that the last step reached, a terminated episode ends in a copy of the last one, which nobody
    looks at, and any other loses its last step. Parts of ``FILLED`` may be missing.

    Args:
      stored: The episode.
      fields: What each column may hold; None takes observations and actions as they are, for ``preprocess``.
      number: Of the episode, which it is called by where its file does not say.

    Raises:
      SourceError: A column is missing, or a row does not fit; the message says which.
    """
    columns = stored.columns
    if "reward" not in columns:
        raise SourceError(f"{stored.where}: reward is missing; there are {', '.join(sorted(columns))}")
    if "kind" not in columns:
        columns = _with_bootstrap(columns, stored.where)
    rows = len(columns["reward"])
    if rows < 2:  # noqa: PLR2004  # A step and its bootstrap row.
        return None
    if fields is None:
        return {**columns, **_framework(columns, rows, number)}
    completed = {**columns, **_framework(columns, rows, number)}
    found: Rows = {}
    for name, field in fields.items():
        column = completed.get(name)
        if column is None:
            column = _filled(name, field, rows, stored.where, completed)
        if len(column) != rows:
            raise SourceError(f"{stored.where}: {name} has {len(column)} rows; allowed is {rows}, as of reward")
        found[name] = fitted(column, field, stored.where, name)
    return found


def _with_bootstrap(columns: Columns, where: str) -> Columns:
    """Returns the columns with ``kind`` and a bootstrap row behind the steps; no row where no step is left."""
    steps = len(columns["reward"])
    seen = {name: column for name, column in columns.items() if part_of(name) == "observation"}
    end = _end(columns)
    following = {
        "observation" + name.removeprefix(NEXT_OBSERVATION): column[-1:]
        for name, column in columns.items()
        if part_of(name) == NEXT_OBSERVATION and len(column)
    }
    reached = {name: column for name, column in seen.items() if len(column) == steps + 1}
    if len(reached) < len(seen):
        if following.keys() >= seen.keys():
            seen = {name: np.concatenate([column[:steps], following[name]]) for name, column in seen.items()}
        elif end is RowKind.TERMINATED:
            seen = {name: np.concatenate([column[:steps], column[steps - 1 : steps]]) for name, column in seen.items()}
        else:
            steps -= 1
    told = ("terminated", "truncated", NEXT_OBSERVATION, "observation")
    rest = {name: column for name, column in columns.items() if part_of(name) not in told}
    if steps < 1:
        return {"reward": columns["reward"][:0]}
    _check_lengths(rest, len(columns["reward"]), where)
    # Behind the last step stand what is known of the state reached there, or a copy that nobody looks at.
    at = np.append(np.arange(steps), steps)
    found = {name: column[np.minimum(at, len(column) - 1)] for name, column in rest.items()}
    for name in NOTHING_DONE:
        if name in found:
            found[name][-1] = 0
    kind = np.full(steps + 1, RowKind.STEP, np.int8)
    kind[-1] = end
    return found | {name: column[: steps + 1] for name, column in seen.items()} | {"kind": kind}


def _end(columns: Columns) -> RowKind:
    """Returns how an episode ends; one of which nothing is said goes on behind the end of the data."""
    for name, kind in (("terminated", RowKind.TERMINATED), ("truncated", RowKind.TRUNCATED)):
        if name in columns and np.size(columns[name]) and bool(np.ravel(columns[name])[-1]):
            return kind
    return RowKind.FULL


def _check_lengths(columns: Columns, steps: int, where: str) -> None:
    unlike = {name: len(column) for name, column in columns.items() if len(column) not in (steps, steps + 1)}
    if unlike:
        raise SourceError(f"{where}: got {unlike} rows; allowed are {steps}, as of reward, or one more")


def _framework(columns: Columns, rows: int, number: int) -> Columns:
    """Returns the columns that say nothing of the game, where they are missing."""
    weight = (columns["kind"] == RowKind.STEP).astype(np.float32)
    episode = columns.get("episode")
    numbered = episode is not None and episode.dtype.kind in "iu" and len(episode) == rows
    made: Columns = {
        "weight": columns.get("weight", weight),
        "episode": columns["episode"] if numbered else np.full(rows, number, np.int64),
        "tick": columns.get("tick", np.arange(rows, dtype=np.int32)),
    }
    zeros = {"log_prob": np.float32, "value": np.float32, "generation": np.int32, "version": np.int32}
    missing = {name: np.zeros(rows, dtype) for name, dtype in zeros.items() if name not in columns}
    return made | missing


def _filled(name: str, field: Field, rows: int, where: str, columns: Columns) -> NDArray[np.generic]:
    part = part_of(name)
    if part not in FILLED:
        raise SourceError(f"{where}: {name} is missing, allowed is {field}; there are {', '.join(sorted(columns))}")
    fill = np.ones if part == "action_mask" else np.zeros
    return fill((rows, *field.shape), field.dtype)
