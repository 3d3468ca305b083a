"""Files that are there whole or not at all, and when they are on the disk."""

import os
from pathlib import Path


def replace_file(path: Path, data: bytes) -> None:
    """Replaces a file, whole or not at all; its folder is made where it is missing.

    Raises:
      OSError: The disk is full or the folder cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.unfinished")
    unfinished.write_bytes(data)
    unfinished.replace(path)


def sync(path: Path) -> None:
    """Waits until a file, or the names in a folder, are on the disk.

    Raises:
      OSError: It cannot be brought there.
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
