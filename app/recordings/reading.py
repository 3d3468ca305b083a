"""Recorded files as sessions, step by step."""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
import orjson
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import parquet

from app.errors import RecordingError
from app.recordings.episode import Episode, RecordedStep
from app.recordings.schema import (
    DIST_INPUTS,
    HAS_DECISION,
    IS_ROW,
    PREFIX,
    SCHEMA_VERSION,
    SPEC_KEY,
    STEP_COLUMNS,
    VERSION_KEY,
)
from app.types import RowKind

__all__ = ["Episode", "RecordedStep", "read_about", "read_episode", "read_episodes", "read_table"]

NESTED: Final = ("observation", "action", "action_mask", "state", DIST_INPUTS)


def read_episodes(path: Path) -> Iterator[Episode]:
    """Yields the sessions of a file in order.

    Raises:
      RecordingError: It is no recording, or one of another version.
    """
    about, table = read_table(path)
    for begin, end in _cuts(table):
        yield _episode(path, about, table.slice(begin, end - begin))


def read_episode(path: Path, number: int) -> Episode:
    """Returns one session of a file.

    Args:
      path: Of the file.
      number: From 0.

    Raises:
      RecordingError: It is no recording, or has fewer sessions.
    """
    about, table = read_table(path)
    cuts = _cuts(table)
    if not 0 <= number < len(cuts):
        allowed = f"0 to {len(cuts) - 1}" if cuts else "none"
        raise RecordingError(f"{path}: episode {number} is wanted; it holds {len(cuts)}, allowed is {allowed}")
    begin, end = cuts[number]
    return _episode(path, about, table.slice(begin, end - begin))


def read_about(path: Path) -> dict[str, str]:
    """Returns what a file tells of itself: ``agent``, ``codec`` and more.

    Raises:
      RecordingError: It is no recording, or one of another version.
    """
    try:
        metadata = parquet.read_schema(path).metadata or {}
    except (OSError, pa.ArrowInvalid) as error:
        raise RecordingError(f"{path}: {error}; allowed is a recording, a Parquet file of sparring's") from error
    found = metadata.get(VERSION_KEY, b"none").decode()
    if found != SCHEMA_VERSION:
        raise RecordingError(
            f"{path}: the recording's schema version is {found}; allowed is {SCHEMA_VERSION}: read it with the release "
            "that wrote it, or learn from it as a source of kind parquet"
        )
    return {
        key.decode().removeprefix(PREFIX): value.decode()
        for key, value in metadata.items()
        if key.startswith(PREFIX.encode())
    }


def read_table(path: Path) -> tuple[dict[str, str], Any]:
    """Returns what a file tells of itself, and its ``pyarrow.Table``.

    Raises:
      RecordingError: It is no recording, or one of another version.
    """
    about = read_about(path)
    try:
        return about, parquet.read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise RecordingError(f"{path}: {error}; allowed is a recording that is whole") from error


def _cuts(table: Any) -> list[tuple[int, int]]:
    """Returns where each session begins and ends."""
    numbers = table.column("recording").to_numpy()
    if not len(numbers):
        return []
    return list(pairwise([0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(numbers)]))


def _episode(path: Path, about: Mapping[str, str], table: Any) -> Episode:
    plain = {name: table.column(name).to_pylist() for name in _plain_columns(table)}
    arrays = {name: _array(table.column(name)) for name in table.column_names if name not in plain}
    spec = orjson.loads(about[SPEC_KEY.decode().removeprefix(PREFIX)]) or {}
    first = {name: plain[name][0] for name in ("session", "game", "purpose", "why", "seed", "recording")}
    return Episode(
        session=first["session"],
        game=first["game"],
        agent=about.get("agent", ""),
        purpose=first["purpose"],
        why=first["why"],
        seed=first["seed"],
        path=path,
        number=first["recording"],
        spec=spec,
        renders=orjson.loads(about.get("renders", "{}")),
        steps=tuple(_step(plain, arrays, at) for at in range(table.num_rows)),
    )


def _step(plain: Mapping[str, list[Any]], arrays: Mapping[str, NDArray[Any]], at: int) -> RecordedStep:
    nested = {part: _leaves(arrays, part, at) for part in NESTED}
    dist_inputs = {path: leaf for path, leaf in nested[DIST_INPUTS].items() if not np.isnan(leaf).all()}
    nothing = np.zeros((), np.float32)
    return RecordedStep(
        event=plain["event"][at],
        seq=plain["seq"][at],
        at_s=plain["at_s"][at],
        draws=plain["draws"][at],
        input=plain["input"][at],
        output=plain["output"][at],
        error=plain["error"][at],
        cause=plain["cause"][at],
        version=plain["policy_version"][at],
        agent_ms=plain["agent_ms"][at],
        model_ms=plain["model_ms"][at],
        is_row=plain[IS_ROW][at],
        has_decision=plain[HAS_DECISION][at],
        kind=RowKind(int(arrays["kind"][at])) if "kind" in arrays else RowKind.LOST,
        reward=np.asarray(arrays["reward"][at]) if "reward" in arrays else nothing,
        value=np.asarray(arrays["value"][at]) if "value" in arrays else nothing,
        log_prob=float(arrays["log_prob"][at]) if "log_prob" in arrays else 0.0,
        observation=nested["observation"],
        action=nested["action"],
        action_mask=nested["action_mask"],
        state=nested["state"],
        dist_inputs=dist_inputs,
    )


def _leaves(arrays: Mapping[str, NDArray[Any]], part: str, at: int) -> dict[str, NDArray[Any]]:
    begins = f"{part}/"
    return {
        name.removeprefix(begins) if name != part else "": np.asarray(column[at])
        for name, column in arrays.items()
        if name == part or name.startswith(begins)
    }


def _plain_columns(table: Any) -> list[str]:
    return [name for name in table.column_names if name in STEP_COLUMNS]


def _array(column: Any) -> NDArray[Any]:
    """Returns a column as an array [rows, …]."""
    if isinstance(column.type, pa.FixedShapeTensorType):
        if not len(column):
            return np.zeros((0, *column.type.shape), column.type.value_type.to_pandas_dtype())
        found: NDArray[Any] = column.combine_chunks().to_numpy_ndarray()
        return found
    plain: NDArray[Any] = column.to_numpy()
    return plain
