"""What lies in a folder of recordings, without reading all of it."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from app.errors import RecordingError
from app.recordings.files import SUFFIX
from app.recordings.reading import Episode, read_about, read_episode
from app.recordings.schema import IS_ROW
from app.types import Version

_COLUMNS: Final = (
    "recording", "session", "game", "purpose", "why", "event", "at_s", "error", "cause", "policy_version", IS_ROW,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class RecordingSummary:
    """One recorded session, or a part of a long one."""

    path: Path
    number: int
    """Its place in the file, from 0: what ``read_episode`` takes."""
    session: str
    game: str
    agent: str
    purpose: str
    why: str
    """What it was recorded for: ``every``, ``asked`` or an alarm's words."""
    began_s: float
    """Seconds since 1970."""
    seconds: float
    ticks: int
    errors: int
    """Steps that were answered with an error."""
    returned: float | None
    """Sum of its rewards; None where no rows were recorded."""
    versions: tuple[str, ...]
    """Weights that played, the oldest first."""
    cause: str | None
    """Why it ended; None where more of it is recorded elsewhere."""

    def as_dict(self) -> dict[str, object]:
        """Returns it as JSON."""
        return asdict(self) | {"path": str(self.path), "versions": list(self.versions)}


def recordings(folder: Path, newest: int | None = None) -> list[RecordingSummary]:
    """Returns the recorded sessions below a folder, the newest first; files that are no recordings are passed over.

    Args:
      folder: Searched with all folders below it; one that is not there holds nothing.
      newest: Most sessions to return, of the newest files; None returns all.
    """
    found: list[RecordingSummary] = []
    for path in recording_files(folder):
        try:
            found += summaries(path)
        except RecordingError:  # It was removed meanwhile, or is none of this version.
            continue
        if newest is not None and len(found) >= newest:
            break
    found.sort(key=lambda summary: summary.began_s, reverse=True)
    return found if newest is None else found[:newest]


def recording_files(folder: Path) -> list[Path]:
    """Returns the Parquet files below a folder, those written last first; a file stands for itself."""
    if folder.is_file():
        return [folder]
    times: dict[Path, float] = {}
    for path in folder.rglob(f"*{SUFFIX}"):
        try:
            times[path] = path.stat().st_mtime
        except FileNotFoundError:  # Room was made.
            continue
    return sorted(times, key=lambda path: (times[path], path.name), reverse=True)


def find_session(folder: Path, session: str) -> list[Episode]:
    """Returns all that is recorded of a session below a folder, in the order of time: its plays, and parts of them.

    Raises:
      RecordingError: Nothing is.
    """
    found = [summary for summary in recordings(folder) if summary.session == session]
    if not found:
        raise RecordingError(
            f"{folder}: no recording of session {session!r}; sparring replay FOLDER --list shows what there is"
        )
    return [read_episode(summary.path, summary.number) for summary in reversed(found)]


def summaries(path: Path) -> Iterator[RecordingSummary]:
    """Yields what each session of a file was.

    Raises:
      RecordingError: It is no recording, or one of another version.
    """
    about = read_about(path)
    try:
        names = parquet.read_schema(path).names
        table = parquet.read_table(path, columns=[*_COLUMNS, *(["reward"] if "reward" in names else [])])
    except (OSError, pa.ArrowException) as error:
        raise RecordingError(f"{path}: {error}; allowed is a recording that is whole") from error
    numbers = table.column("recording").to_numpy()
    if len(numbers):
        for begin, end in pairwise([0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(numbers)]):
            yield _summary(path, about.get("agent", ""), table.slice(begin, end - begin))


def _summary(path: Path, agent: str, table: Any) -> RecordingSummary:
    columns = {name: table.column(name).to_pylist() for name in _COLUMNS}
    causes = [cause for cause in columns["cause"] if cause is not None]
    return RecordingSummary(
        path=path,
        number=columns["recording"][0],
        session=columns["session"][0],
        game=columns["game"][0],
        agent=agent,
        purpose=columns["purpose"][0],
        why=columns["why"][0],
        began_s=columns["at_s"][0],
        seconds=columns["at_s"][-1] - columns["at_s"][0],
        ticks=columns["event"].count("tick"),
        errors=sum(error is not None for error in columns["error"]),
        returned=_returned(table),
        versions=tuple(sorted(set(columns["policy_version"]) - {None}, key=Version.parse)),
        cause=causes[-1] if causes else None,
    )


def _returned(table: Any) -> float | None:
    is_row = table.column(IS_ROW).to_numpy()
    if "reward" not in table.column_names or not is_row.any():
        return None
    column = table.column("reward").combine_chunks()
    rewards = column.to_numpy_ndarray() if isinstance(column.type, pa.FixedShapeTensorType) else column.to_numpy()
    return float(rewards[is_row].sum())
