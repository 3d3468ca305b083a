"""Which files of a project a backup takes, in an order in which what is named is there, while others go on writing.

Databases come first: what they name was written before they named it. Then leagues, whose events name weights, then
saved tables, which belong to checkpoints that come later, then the rest. What is written whole by one rename
(checkpoints, clones, saved tables, weights, recordings) is taken whole or not at all: the files of such a folder are
opened together, and count only if the folder still has its name then.
"""

import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from app.league.journal import read_segment
from app.models.saved import META
from app.sqlite_file import is_database
from app.stores.names import LEAGUE
from app.stores.table_folder import TABLES

ARTIFACTS: Final = "artifacts"
"""Folder of MLflow's files beside an sqlite store."""
LEFT_OUT: Final = frozenset({"ray_train"})
"""Folders that are made anew: Ray Train keeps nothing in its own, since checkpoints are ours."""
_UNFINISHED: Final = (".part", ".unfinished", ".lock", "-wal", "-shm", "-journal")
"""Endings of files that are being written, or belong to a running process."""
_WRITTEN_WHOLE: Final = re.compile(r"\d{6}-\d{10}(\.\d\d)?")
"""Names of checkpoints and saved tables."""
_SEGMENT: Final = re.compile(r"journal-\d+\.log")
_LOOKS: Final = 3
"""How often a folder is listed, where all that was in it may have been replaced in the meantime."""


@dataclass(frozen=True, slots=True)
class Found:
    """A file to copy, open."""

    path: Path
    file: BinaryIO
    size_bytes: int
    """So much of it counts: it may grow."""


def databases(root: Path) -> list[Path]:
    """Returns the sqlite files directly below a project's folder, by name."""
    files = (path for path in sorted(root.iterdir()) if path.is_file() and not _left_out(path))
    return [path for path in files if is_database(path)]


def trials(root: Path) -> list[str]:
    """Returns the names of the trials that a project's folder holds."""
    return [path.name for path in sorted(root.iterdir()) if path.is_dir() and not _left_out(path) and not _shared(path)]


def files(root: Path, trial: str | None) -> Iterator[Found]:
    """Yields all files but databases, each open until the next one is asked for.

    Args:
      root: Folder of the project.
      trial: The only one whose files are wanted; None takes all.

    Raises:
      OSError: One cannot be read.
    """
    wanted = [root / name for name in trials(root) if trial in {None, name}]
    for folder in wanted:
        yield from _league(folder / LEAGUE)
    for folder in wanted:
        yield from _folder(folder, leave_out=(LEAGUE,))
    shared = [path for path in sorted(root.iterdir()) if _shared(path) and not _left_out(path)]
    for path in shared:
        if path.is_dir():
            yield from _folder(path)
        elif not is_database(path):
            yield from _opened([path])


def _league(folder: Path) -> Iterator[Found]:
    """Yields a league's files: a snapshot before the journal that goes on from it, of which torn ends are left out."""
    there = _plain_files(folder)
    segments = [path for path in there if _SEGMENT.fullmatch(path.name)]
    yield from _opened([path for path in there if path not in segments])
    for path in segments:
        good_bytes = read_segment(path).good_bytes if path.exists() else 0
        for found in _opened([path]):
            yield Found(found.path, found.file, min(found.size_bytes, good_bytes))


def _folder(folder: Path, leave_out: tuple[str, ...] = ()) -> Iterator[Found]:
    seen: set[Path] = set()
    for _ in range(_LOOKS):
        new = [path for path in _folders(folder) if path not in seen and path.name not in leave_out]
        if not new:
            break
        seen.update(new)
        for path in new:
            yield from _folder(path)
    if _is_whole(folder):
        yield from _together(folder)
    else:
        yield from _opened(_plain_files(folder))


def _together(folder: Path) -> Iterator[Found]:
    """Yields the files of a folder if all could be opened before it was removed or replaced."""
    with ExitStack() as stack:
        opened: list[Found] = []
        try:
            before = folder.stat().st_ino
            for path in _plain_files(folder):
                file = stack.enter_context(path.open("rb"))
                opened.append(Found(path, file, _size(file)))
            whole = folder.stat().st_ino == before
        except FileNotFoundError:
            whole = False
        if whole:
            yield from opened


def _opened(paths: list[Path]) -> Iterator[Found]:
    """Yields files one by one; those that are gone by now are left out: old recordings are removed."""
    for path in paths:
        try:
            file = path.open("rb")
        except FileNotFoundError:
            continue
        with file:
            yield Found(path, file, _size(file))


def _folders(folder: Path) -> list[Path]:
    """Returns folders in a folder: saved tables first, then the newest checkpoints, then others."""
    there = [path for path in _listed(folder) if path.is_dir() and not _left_out(path)]
    newest_first = sorted(there, key=lambda path: path.name, reverse=True)
    return sorted(newest_first, key=lambda path: path.name != TABLES)


def _plain_files(folder: Path) -> list[Path]:
    return [path for path in _listed(folder) if path.is_file() and not _left_out(path)]


def _listed(folder: Path) -> list[Path]:
    """Returns what is in a folder, by name; nothing where it is gone."""
    try:
        return sorted(folder.iterdir())
    except FileNotFoundError:
        return []


def _is_whole(folder: Path) -> bool:
    return _WRITTEN_WHOLE.fullmatch(folder.name) is not None or (folder / META).exists()


def _left_out(path: Path) -> bool:
    name = path.name
    return name.startswith(".") or name.endswith(_UNFINISHED) or name in LEFT_OUT


def _shared(path: Path) -> bool:
    """Whether it belongs to all trials."""
    return path.name == ARTIFACTS or path.is_file()


def _size(file: BinaryIO) -> int:
    return file.seek(0, 2) - file.seek(0)
