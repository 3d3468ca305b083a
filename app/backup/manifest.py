"""What a backup says of itself: the last file of its archive, so that an archive without one is not whole."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import PurePosixPath
from typing import Any, Final

from app.errors import BackupError

NAME: Final = "manifest.json"
"""The only file of an archive that is not the project's."""
FILES: Final = "files/"
"""Begins the names of the project's files in an archive."""
SCHEMA_VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class FileEntry:
    """One file of a project."""

    path: str
    """Below the project's folder, with ``/``."""
    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """All that an archive holds, and of what."""

    project: str
    trial: str | None
    """None where all trials are in it."""
    root: str
    """Folder that the project had; paths below it in databases are moved when it is restored elsewhere."""
    created_at: str
    """ISO 8601, UTC."""
    files: Sequence[FileEntry]
    databases: Sequence[str]
    """Paths of the files that are sqlite databases."""
    schema_version: int = SCHEMA_VERSION

    @property
    def size_bytes(self) -> int:
        """Size of all files together."""
        return sum(file.size_bytes for file in self.files)

    @property
    def entries(self) -> list[str]:
        """Returns the names directly below the project's folder, in order."""
        return sorted({file.path.partition("/")[0] for file in self.files})

    def to_bytes(self) -> bytes:
        """Returns it as JSON."""
        return json.dumps(asdict(self), indent=1).encode()


def manifest_of(data: bytes, archive: str) -> Manifest:
    """Returns what ``Manifest.to_bytes`` gave.

    Args:
      data: The JSON.
      archive: How a message names the archive.

    Raises:
      BackupError: It is no manifest, of another schema, or names a path outside of the project's folder.
    """
    try:
        told: dict[str, Any] = json.loads(data)
        version = told["schema_version"]
        if version != SCHEMA_VERSION:
            raise BackupError(f"{archive} has the schema version {version}; allowed is {SCHEMA_VERSION}")
        files = [FileEntry(**file) for file in told.pop("files")]
        found = Manifest(files=files, **told)
        for file in files:
            _refuse_outside(file.path, archive)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BackupError(f"{archive} is no backup of Sparring: its {NAME} cannot be read ({error})") from error
    return found


def _refuse_outside(path: str, archive: str) -> None:
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or ".." in parts or "\0" in path:
        raise BackupError(f"{archive} names the file {path!r}; allowed are files below the project's folder")
