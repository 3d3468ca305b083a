"""Writes a backup of a project while its trials run."""

import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from app.backup.archive import ArchiveWriter, new_archive
from app.backup.contents import databases, files, trials
from app.backup.databases import copy_database
from app.backup.manifest import Manifest
from app.errors import BackupError
from app.home import state_root

ROOM: Final = 1.05
"""Free space wanted per byte that is to be copied: heads of files, and what grows meanwhile."""


@dataclass(frozen=True, slots=True)
class BackedUp:
    """What a backup took."""

    archive: Path
    manifest: Manifest


def back_up(path: Path, project: str, trial: str | None, tell: Callable[[str], None]) -> BackedUp:
    """Writes one archive of a project and returns what is in it.

    Args:
      path: Of the archive; nothing may be there.
      project: Whose files.
      trial: Only this one's, and what belongs to all: databases and MLflow's files. None takes all trials.
      tell: Is told what is copied.

    Raises:
      BackupError: There is no such project or trial, or the archive cannot be written; then nothing is left of it.
      LeagueError: A league's journal cannot be read.
    """
    root = _root_of(project, trial)
    if path.absolute().is_relative_to(root):
        raise BackupError(f"the backup {path} would lie in what it copies, {root}; name a path outside of it")
    _refuse_without_room(path, root)
    try:
        with new_archive(path) as archive:
            copied = _add_databases(archive, root, path.parent, tell)
            tell("copying files")
            for found in files(root, trial):
                archive.add(str(found.path.relative_to(root)), found.file, found.size_bytes)
            now = datetime.now(UTC).isoformat(timespec="seconds")
            manifest = Manifest(project, trial, str(root), now, archive.files, copied)
            archive.finish(manifest)
    except OSError as error:
        raise BackupError(f"the backup {path} is not written: {error}; nothing is left of it") from error
    return BackedUp(path, manifest)


def _add_databases(archive: ArchiveWriter, root: Path, beside: Path, tell: Callable[[str], None]) -> list[str]:
    found = databases(root)
    for database in found:
        tell(f"copying the database {database.name}")
        with tempfile.TemporaryDirectory(prefix=".sparring-backup-", dir=beside) as folder:
            copy = Path(folder) / database.name
            copy_database(database, copy)
            with copy.open("rb") as file:
                archive.add(database.name, file, copy.stat().st_size)
    return [database.name for database in found]


def _root_of(project: str, trial: str | None) -> Path:
    root = state_root(project)
    if not root.is_dir():
        there = sorted(path.name for path in root.parent.glob("[!.]*") if path.is_dir())
        raise BackupError(f"there is no project {project!r} in {root.parent}; there are: {', '.join(there) or 'none'}")
    if trial is not None and trial not in trials(root):
        raise BackupError(f"there is no trial {trial!r} in {root}; there are: {', '.join(trials(root)) or 'none'}")
    return root


def _refuse_without_room(path: Path, root: Path) -> None:
    """Raises where the disk of an archive is certain to be too small, before hours are spent on it."""
    wanted = int(ROOM * sum(_size(Path(folder) / name) for folder, _, names in os.walk(root) for name in names))
    there = next(folder for folder in path.absolute().parents if folder.is_dir())
    free = shutil.disk_usage(there).free
    if free < wanted:
        raise BackupError(
            f"the disk of {there} has {free / 1e6:,.0f} MB free and the backup of {root} may need "
            f"{wanted / 1e6:,.0f} MB; remove something, or name a path on another disk"
        )


def _size(path: Path) -> int:
    try:
        return path.stat().st_size if path.is_file() else 0
    except FileNotFoundError:  # Removed since it was listed.
        return 0
