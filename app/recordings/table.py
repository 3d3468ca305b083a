"""Played sessions as the table of a file."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import orjson
import pyarrow as pa
from numpy.typing import NDArray

from app.agents.game_log import Entry, Event, Played
from app.agents.json_arrays import everything_allowed
from app.agents.outbox import Outbox
from app.agents.unroll import Row
from app.models.spec import ModelSpec
from app.recordings.privacy import Privacy
from app.recordings.schema import (
    HAS_DECISION,
    IS_ROW,
    PREFIX,
    SCHEMA_VERSION,
    SPEC_KEY,
    STEP_COLUMNS,
    VERSION_KEY,
    dist_columns,
    spec_document,
)
from app.types import RowKind

_OF_ENTRY: Final = (
    "event", "seq", "at_s", "draws", "input", "output", "error", "cause", "agent_ms", "model_ms",
)  # fmt: skip
"""Columns that have an entry's own names."""


class Line(NamedTuple):
    """One line of the table."""

    recording: int
    played: Played
    entry: Entry
    row: Row | None
    is_row: bool


def table(played: Sequence[Played], spec: ModelSpec | None, privacy: Privacy, about: Mapping[str, str]) -> pa.Table:
    """Returns sessions, or parts of them, as one table with its metadata.

    Args:
      played: Each with its entries.
      spec: Of the agent's model; None without one, then there are no rows to learn from.
      privacy: What does not reach the disk.
      about: What else the file tells of itself.
    """
    lines = [line for number, one in enumerate(played) for line in _lines(number, one)]
    columns = {name: pa.array(values, STEP_COLUMNS[name]) for name, values in _steps(lines, privacy).items()}
    if spec is not None:
        arrays = _rows(lines, spec) | _dist_inputs(lines, spec)
        columns |= {name: _column(array) for name, array in arrays.items() if privacy.lets_pass(name)}
    document = None if spec is None else spec_document(spec)
    told: dict[bytes | str, bytes | str] = {PREFIX + key: value for key, value in about.items()}
    told |= {VERSION_KEY: SCHEMA_VERSION, SPEC_KEY: orjson.dumps(document)}
    return pa.table(columns).replace_schema_metadata(told)


def _lines(number: int, played: Played) -> list[Line]:
    lines: list[Line] = []
    for entry in played.entries:
        at = _main(entry)
        if entry.event == Event.ROW:
            lines += [Line(number, played, entry, row, True) for row in entry.rows]
            continue
        further = Entry(Event.ROW.value, entry.seq, entry.at_s, entry.draws)
        main = Line(number, played, entry, entry.decided if at is None else entry.rows[at], at is not None)
        extra = [Line(number, played, further, row, True) for row in entry.rows]
        lines += [main] if at is None else [*extra[:at], main, *extra[at + 1 :]]
    return lines


def _main(entry: Entry) -> int | None:
    """Returns which of an entry's rows stands in its own line: a tick's is the first one played, else the last."""
    if not entry.rows:
        return None
    if entry.event != Event.TICK:
        return len(entry.rows) - 1
    return next((at for at, row in enumerate(entry.rows) if row.kind == RowKind.STEP), None)


def _steps(lines: Sequence[Line], privacy: Privacy) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {name: [] for name in STEP_COLUMNS}
    for line in lines:
        about, entry = line.played.about, line.entry
        values = {name: getattr(entry, name) for name in _OF_ENTRY}
        values |= {
            "recording": line.recording,
            "session": privacy.name("session", about.session),
            "game": privacy.name("game", about.game),
            "purpose": about.purpose.value,
            "why": line.played.why,
            "seed": about.seed % 2**64,
            "input": privacy.body(entry.input, entry.event, "input"),
            "output": privacy.body(entry.output, entry.event, "output"),
            "error": privacy.error(entry.error),
            "policy_version": entry.version,
            IS_ROW: line.is_row,
            HAS_DECISION: line.row is not None and (not line.is_row or line.row.kind == RowKind.STEP),
        }
        for name, value in values.items():
            columns[name].append(value)
    return columns


def _rows(lines: Sequence[Line], spec: ModelSpec) -> dict[str, NDArray[np.generic]]:
    blank = _blank(spec)
    outbox = Outbox(spec, len(lines) + 1, lambda: None)
    outbox.add([blank if line.row is None else _filled(line.row, blank, spec) for line in lines])
    return dict(outbox.take())


def _filled(row: Row, blank: Row, spec: ModelSpec) -> Row:
    """Returns a row whose state and masks are the blank one's where it has none."""
    state = blank.state if row.state is None else row.state
    if row.action_mask is None:
        return row._replace(state=state, action_mask=blank.action_mask)
    masks = zip(spec.actions.flatten(row.action_mask), spec.actions.flatten(blank.action_mask), strict=True)
    allowed = spec.actions.unflatten([every if mask is None else mask for mask, every in masks])
    return row._replace(state=state, action_mask=allowed)


def _blank(spec: ModelSpec) -> Row:
    observation = spec.inputs.unflatten([np.zeros(leaf.shape, leaf.dtype) for leaf in spec.inputs.leaves])
    action = spec.actions.unflatten([np.zeros(leaf.shape, leaf.dtype) for leaf in spec.actions.leaves])
    state = spec.states.unflatten([np.zeros(leaf.shape, leaf.dtype) for leaf in spec.states.leaves])
    amount = np.zeros(spec.reward_shape, np.float32) if spec.rewards else 0.0
    kind = int(RowKind.LOST)
    return Row(observation, action, everything_allowed(spec), state, amount, 0.0, amount, kind, 0.0, 0, 0, 0, 0)


def _dist_inputs(lines: Sequence[Line], spec: ModelSpec) -> dict[str, NDArray[np.float32]]:
    found: dict[str, NDArray[np.float32]] = {}
    for leaf, (column, size) in enumerate(dist_columns(spec).items()):
        array = found[column] = np.full((len(lines), size), np.nan, np.float32)
        for at, line in enumerate(lines):
            if line.entry.dist_inputs is not None:
                array[at] = line.entry.dist_inputs[leaf]
    return found


def _column(column: NDArray[np.generic]) -> Any:
    if column.ndim == 1:
        return pa.array(column)
    return pa.FixedShapeTensorArray.from_numpy_ndarray(np.ascontiguousarray(column))
