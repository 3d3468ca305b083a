"""Puts a backup back: everything is checked before anything gets its name."""

import fcntl
import shutil
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from app.backup.databases import move_paths
from app.backup.manifest import Manifest
from app.backup.reading import ArchiveReader
from app.backup.unsent import move_unsent
from app.errors import BackupError
from app.home import START_FORMAT, ensure, state_root

STAGED: Final = ".restore-"
"""How the name of a folder begins in which an archive is unpacked."""
REPLACED: Final = ".replaced-"
"""How the name of a folder begins that keeps what a restore has replaced."""
LOCK: Final = ".restore.lock"


@dataclass(frozen=True, slots=True)
class Restored:
    """What a restore did."""

    root: Path
    """Folder of the project."""
    manifest: Manifest
    paths_moved: int
    """Values in databases that named the old folder."""
    replaced: Path | None
    """Folder that keeps what was there; None where nothing was."""


def restore(archive: Path, *, overwrite: bool) -> Restored:
    """Unpacks a backup below ``SPARRING_HOME`` and returns what came of it.

    Args:
      archive: That ``back_up`` wrote.
      overwrite: Whether what is there may be replaced; it is moved aside, never removed.

    Raises:
      BackupError: The archive is damaged or of another schema, something is there already, or it cannot be written.
        Then everything is as it was.
    """
    try:
        with ArchiveReader(archive) as reader:
            manifest = reader.manifest
            root = state_root(manifest.project)
            with _staging(ensure(root.parent), manifest) as staged:
                there = existing(root, manifest)
                if there and not overwrite:
                    raise BackupError(refusal(root, there))
                reader.unpack(staged)
                moved = _move_paths(staged, manifest, root)
                replaced = _put_in_place(staged, root, manifest.entries, there)
    except OSError as error:
        raise BackupError(f"{archive} cannot be restored: {error}") from error
    return Restored(root, manifest, moved, replaced)


def existing(root: Path, manifest: Manifest) -> list[str]:
    """Returns which of a backup's entries are there already in a project's folder."""
    return [name for name in manifest.entries if (root / name).exists()]


def refusal(root: Path, there: Sequence[str]) -> str:
    """Returns why nothing is restored over what is there, and what to do."""
    return (
        f"{root} holds {', '.join(there)} already, and nothing is changed. Name another SPARRING_HOME, or give "
        "--overwrite: what is there is then moved aside"
    )


@contextmanager
def _staging(home: Path, manifest: Manifest) -> Iterator[Path]:
    """Gives an empty folder on the disk of the project, which is gone after the block; one restore at a time."""
    with (home / LOCK).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BackupError(f"another restore works in {home}; wait for its end") from error
        for left in home.glob(f"{STAGED}*"):  # By one that was killed: the lock is ours.
            shutil.rmtree(left, ignore_errors=True)
        free = shutil.disk_usage(home).free
        if free < manifest.size_bytes:
            raise BackupError(
                f"the disk of {home} has {free / 1e6:,.0f} MB free, and the backup needs "
                f"{manifest.size_bytes / 1e6:,.0f} MB"
            )
        staged = home / f"{STAGED}{manifest.project}-{uuid.uuid4().hex[:8]}"
        staged.mkdir()
        try:
            yield staged
        finally:
            shutil.rmtree(staged, ignore_errors=True)


def _move_paths(staged: Path, manifest: Manifest, root: Path) -> int:
    old = Path(manifest.root)
    moved = sum(move_paths(staged / name, old, root) for name in manifest.databases)
    for path in staged.rglob("*"):
        move_unsent(path, old, root)
    return moved


def _put_in_place(staged: Path, root: Path, entries: Sequence[str], there: Sequence[str]) -> Path | None:
    replaced: Path | None = None
    if there:
        now = datetime.now(UTC).strftime(START_FORMAT)
        replaced = root.parent / f"{REPLACED}{root.name}-{now}-{uuid.uuid4().hex[:4]}"
        replaced.mkdir()
        for path in [*map(root.joinpath, there), *_beside_databases(root, there)]:
            path.rename(replaced / path.name)
    if not root.exists():
        staged.rename(root)
        return replaced
    for name in entries:
        (staged / name).rename(root / name)
    return replaced


def _beside_databases(root: Path, there: Sequence[str]) -> list[Path]:
    """Returns the logs of databases, which go with them: sqlite would apply them to others of that name."""
    beside = [root / f"{name}{ending}" for name in there for ending in ("-wal", "-shm", "-journal")]
    return [path for path in beside if path.exists()]
