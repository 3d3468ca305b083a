"""The archive of a backup: an uncompressed tar file that is whole or absent, with its manifest as the last file."""

import fcntl
import hashlib
import os
import tarfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final

from app.backup.manifest import FILES, NAME, FileEntry, Manifest
from app.errors import BackupError
from app.files import sync

UNFINISHED: Final = ".unfinished-"
"""How the name of an archive goes on that is being written, or whose writer was killed."""
MODE: Final = 0o600
"""Only who made it may read it: recordings and configs may hold what others should not see."""


class ArchiveWriter:
    """Adds files to an archive that is being written; see ``new_archive``."""

    def __init__(self, tar: tarfile.TarFile) -> None:
        self._tar = tar
        self.files: list[FileEntry] = []

    def add(self, path: str, file: BinaryIO, size_bytes: int) -> None:
        """Copies so many bytes of a file, from where it stands.

        Raises:
          OSError: The archive cannot be written, or the file has become shorter.
        """
        member = tarfile.TarInfo(FILES + path)
        member.size, member.mode = size_bytes, MODE
        hashing = _Hashing(file)
        self._tar.addfile(member, hashing)  # It needs read() alone.
        self.files.append(FileEntry(path, size_bytes, hashing.sha256.hexdigest()))

    def finish(self, manifest: Manifest) -> None:
        """Adds the manifest.

        Raises:
          OSError: The archive cannot be written.
        """
        data = manifest.to_bytes()
        member = tarfile.TarInfo(NAME)
        member.size, member.mode = len(data), MODE
        self._tar.addfile(member, _Bytes(data))  # type: ignore[arg-type]  # As above.


@contextmanager
def new_archive(path: Path) -> Iterator[ArchiveWriter]:
    """Gives what an archive is filled with; it has its name when the block has ended without an error, else it is gone.

    What a writer that was killed has left beside it is removed.

    Raises:
      BackupError: There is something at ``path`` already.
      OSError: It cannot be written.
    """
    _refuse_existing(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_left_over(path)
    unfinished = path.with_name(f"{path.name}{UNFINISHED}{uuid.uuid4().hex[:8]}")
    try:
        with open(unfinished, "xb", opener=_private) as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as tar:
                yield ArchiveWriter(tar)
            file.flush()
            os.fsync(file.fileno())
        _refuse_existing(path)
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
    sync(path.parent)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, MODE)


def _refuse_existing(path: Path) -> None:
    if path.exists():
        raise BackupError(f"there is {path} already; allowed is a name that is free")


def _remove_left_over(path: Path) -> None:
    """Removes unfinished archives of this name that nobody writes any more."""
    for left in path.parent.glob(f"{path.name}{UNFINISHED}*"):
        with suppress(OSError), left.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            left.unlink()


class _Hashing:
    """A file whose bytes are hashed as they are read."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.sha256 = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self.sha256.update(data)
        return data


class _Bytes:
    """Bytes that can be read once."""

    def __init__(self, data: bytes) -> None:
        self._rest = memoryview(data)

    def read(self, size: int) -> bytes:
        data, self._rest = bytes(self._rest[:size]), self._rest[size:]
        return data
