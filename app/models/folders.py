"""Folders that are whole or absent, whenever their writer is killed."""

import shutil
import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from app.files import sync

UNFINISHED: Final = ".unfinished-"
"""How the name of a folder begins that is being written, or whose writer was killed."""


def write_folder(target: Path, fill: Callable[[Path], None]) -> None:
    """Makes a folder of the files that ``fill`` writes into an empty one, by one rename when they are on disk.

    Raises:
      OSError: It cannot be written, or there is a folder with files in it at ``target``; nothing is left behind then.
        What ``fill`` raises passes through.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.parent / f"{UNFINISHED}{target.name}-{uuid.uuid4().hex[:8]}"
    unfinished.mkdir()
    try:
        fill(unfinished)
        for path in [*unfinished.iterdir(), unfinished]:
            sync(path)
        unfinished.replace(target)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise
    sync(target.parent)


def remove_folder(folder: Path) -> None:
    """Removes a folder, by one rename first: whenever its remover is killed, it is whole or absent.

    One that cannot be removed stays.
    """
    going = folder.parent / f"{UNFINISHED}{folder.name}-{uuid.uuid4().hex[:8]}"
    with suppress(OSError):
        folder.replace(going)
        shutil.rmtree(going, ignore_errors=True)
