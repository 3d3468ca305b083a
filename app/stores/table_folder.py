"""Saved tables on disk: a folder for each, with a file for each shard, whole or absent."""

import asyncio
import shutil
import uuid
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final

from app.errors import CheckpointError
from app.models.checkpoints import checkpoint_name
from app.models.folders import UNFINISHED, remove_folder, write_folder

TABLES: Final = "tables"
"""Folder beside the checkpoints of a trainer, with a folder for each buffer, and in it one for each saved table."""

Write = Callable[[Path], Awaitable[None]]
"""Writes the table of a shard into a file."""


def table_folder(checkpoints: Path, buffer: str) -> Path:
    """Returns where the saved tables of a buffer lie."""
    return checkpoints / TABLES / buffer


def shard_file(folder: Path, shard: int) -> Path:
    """Returns the file of a shard."""
    return folder / f"{shard}.npz"


def table_of(folder: Path, generation: int, updates: int) -> Path | None:
    """Returns the newest saved table of a checkpoint, or of one before it; None where there is none.

    Args:
      folder: Of a buffer's tables.
      generation: Of the checkpoint.
      updates: Of the checkpoint.
    """
    name = checkpoint_name(generation, updates)
    found = sorted(path for path in folder.glob("[0-9]*-[0-9]*") if path.name.partition(".")[0] <= name)
    return found[-1] if found else None


async def write_tables(target: Path, shards: Sequence[Write]) -> None:
    """Writes a table of all shards by one rename, and then removes those before it.

    Raises:
      CheckpointError: A shard cannot be written; what was saved before is as it was.
    """
    written = target.parent / f"{UNFINISHED}{target.name}-{uuid.uuid4().hex[:8]}"
    try:
        await asyncio.to_thread(written.mkdir, parents=True)
        writing = [_write(write, shard_file(written, shard)) for shard, write in enumerate(shards)]
        for outcome in await asyncio.gather(*writing, return_exceptions=True):
            if outcome is not None:
                raise outcome
        await asyncio.to_thread(_finish, target, written)
    except OSError as error:
        raise CheckpointError(f"cannot write the table {target}: {error}") from error
    finally:
        await asyncio.to_thread(shutil.rmtree, written, ignore_errors=True)


async def _write(write: Write, path: Path) -> None:
    await write(path)
    if not await asyncio.to_thread(path.is_file):
        raise CheckpointError(
            f"a shard has written {path}, which is not there: shards on other machines need a shared folder"
        )


def _finish(target: Path, written: Path) -> None:
    def fill(folder: Path) -> None:
        for path in list(written.iterdir()):
            path.rename(folder / path.name)

    write_folder(target, fill)
    for other in target.parent.iterdir():
        if other.name.startswith(UNFINISHED):  # Of writers that were killed, or this one's.
            shutil.rmtree(other, ignore_errors=True)
        elif other != target:
            remove_folder(other)
