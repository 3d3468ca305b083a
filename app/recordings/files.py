"""Files of recordings: written whole or not at all, and removed when they are too many or too old."""

import os
from pathlib import Path
from typing import Any, Final

from pyarrow import parquet

UNFINISHED: Final = ".part"
"""Ending of a file that is being written."""
SUFFIX: Final = ".parquet"


def write_table(path: Path, table: Any) -> int:
    """Writes a table, whole or not at all, and returns the size of the file in bytes.

    Args:
      path: Of the file; its folder is made.
      table: The ``pyarrow.Table``.

    Raises:
      OSError: It cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(path.name + UNFINISHED)
    parquet.write_table(table, unfinished, compression="zstd")
    with unfinished.open("rb") as file:
        os.fsync(file.fileno())
    unfinished.replace(path)
    return path.stat().st_size


def remove_oldest(folder: Path, begins: str, max_bytes: float) -> int:
    """Removes the files whose names sort first until the others are small enough, and returns how many.

    Args:
      folder: Where they lie.
      begins: How their names begin; others stay.
      max_bytes: What the rest may take; the newest stays in any case.
    """
    files = _files(folder, begins)
    sizes = {path: _stat(path)[0] for path in files}
    total, removed = sum(sizes.values()), 0
    for path in files[:-1]:
        if total <= max_bytes:
            break
        path.unlink(missing_ok=True)  # Another replica may have been faster.
        total -= sizes[path]
        removed += 1
    return removed


def remove_older(folder: Path, begins: str, than_s: float) -> int:
    """Removes the files that were written before a time, and returns how many.

    Args:
      folder: Where they lie.
      begins: How their names begin; others stay.
      than_s: Seconds since 1970.
    """
    old = [path for path in _files(folder, begins) if _stat(path)[1] < than_s]
    for path in old:
        path.unlink(missing_ok=True)  # As above.
    return len(old)


def _files(folder: Path, begins: str) -> list[Path]:
    return sorted(path for path in folder.glob(f"*{SUFFIX}") if path.name.startswith(begins))


def _stat(path: Path) -> tuple[int, float]:
    """Returns size and time of a file; of one that is gone nothing and now."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return 0, float("inf")
    return found.st_size, found.st_mtime
