"""Reads the archive of a backup; nothing in it is trusted before its size and sha256 are those of the manifest."""

import hashlib
import os
import tarfile
from pathlib import Path
from types import TracebackType
from typing import IO, Final, Self

from app.backup.manifest import FILES, NAME, FileEntry, Manifest, manifest_of
from app.errors import BackupError

CHUNK_BYTES: Final = 2**20
MAX_MANIFEST_BYTES: Final = 2**28
"""Largest manifest: a million files."""


class ArchiveReader:
    """An archive whose members are those of its manifest; a context manager."""

    def __init__(self, path: Path) -> None:
        """Reads the manifest.

        Raises:
          BackupError: There is no archive, it is not whole, or of another schema.
        """
        self._path = path
        try:
            self._tar = tarfile.open(path, mode="r:")  # noqa: SIM115  # Closed by __exit__.
        except (OSError, tarfile.TarError) as error:
            raise BackupError(f"the backup {path} cannot be opened: {error}") from error
        try:
            self._members = self._listed()
            self.manifest = self._read_manifest()
        except BaseException:
            self._tar.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._tar.close()

    def unpack(self, folder: Path) -> None:
        """Writes all files below a folder, and checks each.

        Raises:
          BackupError: A file is damaged.
          OSError: One cannot be written.
        """
        for entry in self.manifest.files:
            target = folder / entry.path
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("xb") as out:
                self._copy(entry, out)
                out.flush()
                os.fsync(out.fileno())

    def _copy(self, entry: FileEntry, out: IO[bytes]) -> None:
        file = self._tar.extractfile(self._members[FILES + entry.path])
        if file is None:
            raise BackupError(f"{self._path} holds no plain file {entry.path}")
        sha256 = hashlib.sha256()
        while data := file.read(CHUNK_BYTES):
            sha256.update(data)
            out.write(data)
        if sha256.hexdigest() != entry.sha256:
            raise BackupError(
                f"{self._path} is damaged: {entry.path} has the sha256 {sha256.hexdigest()}, and its manifest says "
                f"{entry.sha256}; nothing is restored. Take another backup"
            )

    def _listed(self) -> dict[str, tarfile.TarInfo]:
        try:
            members = self._tar.getmembers()
        except (OSError, tarfile.TarError) as error:
            raise BackupError(f"the backup {self._path} is not whole: {error}") from error
        strange = [member.name for member in members if not member.isreg() or member.issparse()]
        if strange:
            raise BackupError(f"{self._path} holds {strange[0]!r}, which is no plain file; allowed are plain files")
        return {member.name: member for member in members}

    def _read_manifest(self) -> Manifest:
        member = self._members.get(NAME)
        file = None if member is None or member.size > MAX_MANIFEST_BYTES else self._tar.extractfile(member)
        if file is None:
            raise BackupError(f"{self._path} is no whole backup of Sparring: it has no {NAME}")
        try:
            manifest = manifest_of(file.read(), str(self._path))
        except (OSError, tarfile.TarError) as error:
            raise BackupError(f"the backup {self._path} is not whole: {error}") from error
        wanted = {FILES + entry.path: entry.size_bytes for entry in manifest.files} | {NAME: self._members[NAME].size}
        got = {name: found.size for name, found in self._members.items()}
        if wanted != got:
            different = sorted(set(wanted.items()) ^ set(got.items()))
            raise BackupError(f"{self._path} is damaged: its manifest and its files differ in {different[0][0]}")
        return manifest
