"""What happened, appended to files before anybody is told: records with length and checksum, in numbered segments.

A record counts when its bytes are all there and its checksum is right. A process that dies while it writes leaves a
torn end, which nobody was told of; it is cut off when the journal is opened again. Records are written, and with
``fsync`` brought to the disk, many at a time: whoever appends is told after ``write``.
"""

import logging
import os
import struct
import threading
import zlib
from collections.abc import Iterator
from io import FileIO
from pathlib import Path
from typing import Final, NamedTuple

from app.errors import LeagueError
from app.files import sync

MAGIC: Final = b"sparring league journal 1\n"
FRAME: Final = struct.Struct(">II")
"""Length and CRC-32 of a record, big-endian."""
MAX_RECORD_BYTES: Final = 16 * 2**20
"""Largest record; a length beyond is taken for damage."""

_log = logging.getLogger(__name__)


class Segment(NamedTuple):
    """One file of a journal."""

    records: list[bytes]
    good_bytes: int
    """Size of its part that can be read."""
    size_bytes: int


class Journal:
    """Appends to one segment of a folder at a time.

    ``append`` and ``rotate`` belong to one thread; ``write`` may run in any other.
    """

    def __init__(self, folder: Path, segment: int, *, fsync: bool = True) -> None:
        """Opens a segment that is new, or empty, or whole.

        Args:
          folder: Where the segments lie; it is made where it is missing.
          segment: Number of the segment.
          fsync: Whether ``write`` waits for the disk.

        Raises:
          LeagueError: It cannot be opened, or is damaged.
        """
        self._folder, self._fsync = folder, fsync
        self._waiting: list[bytes | int] = []
        """Framed records, and the numbers of segments that begin between them."""
        self._lock = threading.Lock()
        self.appended = 0
        """Records appended, and segments begun."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = self._opened(segment)
        except OSError as error:
            raise LeagueError(f"the league's journal in {folder} cannot be opened: {error}") from error

    @property
    def behind(self) -> int:
        """Returns how many records wait to be written."""
        return len(self._waiting)

    def append(self, data: bytes) -> None:
        """Adds a record; it is safe after the next ``write``."""
        self._waiting.append(FRAME.pack(len(data), zlib.crc32(data)) + data)
        self.appended += 1

    def rotate(self, segment: int) -> None:
        """Begins another segment: the next ``write`` ends the present one."""
        self._waiting.append(segment)
        self.appended += 1

    def write(self) -> None:
        """Writes what was appended so far; after a failure it is all written by the next call.

        Raises:
          OSError: The disk is full, or the folder cannot be written.
        """
        with self._lock:
            waiting = self._waiting[:]
            begun = 0
            for place, item in enumerate(waiting):
                if isinstance(item, int):
                    self._put(waiting[begun:place])
                    del self._waiting[: place - begun]
                    following = self._opened(item)
                    self._file.close()
                    self._file = following
                    del self._waiting[:1]
                    begun = place + 1
            self._put(waiting[begun:])
            del self._waiting[: len(waiting) - begun]

    def close(self) -> None:
        """Writes what is left, and closes the file.

        Raises:
          OSError: It cannot be written.
        """
        self.write()
        with self._lock:
            self._file.close()

    def _put(self, items: list[bytes | int]) -> None:
        whole = self._file.tell()
        try:
            _write_all(self._file, b"".join(item for item in items if isinstance(item, bytes)))
            if self._fsync:
                os.fsync(self._file.fileno())
        except OSError:
            self._back_to(whole)
            raise

    def _back_to(self, whole: int) -> None:
        """Takes half-written records back, as far as the disk allows."""
        try:
            self._file.seek(whole)
            self._file.truncate(whole)
        except OSError as error:
            _log.error("the league's journal has a torn end, which a restart cuts: %s", error)

    def _opened(self, segment: int) -> FileIO:
        path = segment_path(self._folder, segment)
        if path.exists() and path.stat().st_size:
            read = read_segment(path)
            if read.good_bytes != read.size_bytes:
                raise LeagueError(f"{path} is damaged at byte {read.good_bytes} of {read.size_bytes}")
            return FileIO(path, "ab")
        file = FileIO(path, "wb")
        _write_all(file, MAGIC)
        if self._fsync:
            os.fsync(file.fileno())
            sync(self._folder)
        return file


def segment_path(folder: Path, segment: int) -> Path:
    """Returns the file of a segment."""
    return folder / f"journal-{segment:08d}.log"


def segments(folder: Path) -> list[int]:
    """Returns the numbers of a folder's segments, oldest first."""
    return sorted(int(path.stem.removeprefix("journal-")) for path in folder.glob("journal-????????.log"))


def read_segment(path: Path) -> Segment:
    """Returns the records of a segment, up to the first that is not whole.

    Raises:
      LeagueError: It cannot be read, or is no journal.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise LeagueError(f"the league's journal {path} cannot be read: {error}") from error
    if MAGIC.startswith(data) and data != MAGIC:
        return Segment([], 0, len(data))  # Not even the head is whole.
    if not data.startswith(MAGIC):
        raise LeagueError(f"{path} is no journal of a league: it begins with {data[: len(MAGIC)]!r}")
    records: list[bytes] = []
    at = len(MAGIC)
    for record in _records(data, at):
        records.append(record)
        at += FRAME.size + len(record)
    return Segment(records, at, len(data))


def cut_torn_end(path: Path) -> Segment:
    """Returns what can be read of the newest segment, and cuts off what cannot, with one message.

    Raises:
      LeagueError: It cannot be read or cut, or is no journal.
    """
    read = read_segment(path)
    torn = read.size_bytes - read.good_bytes
    if torn:
        _log.warning(
            "the league's journal %s ends in %d bytes of a record that was not whole; they are cut off, and nobody was "
            "told of it",
            path,
            torn,
        )
        try:
            os.truncate(path, read.good_bytes)
        except OSError as error:
            raise LeagueError(f"the torn end of {path} cannot be cut: {error}") from error
    return read


def _write_all(file: FileIO, data: bytes) -> None:
    view = memoryview(data)
    while view:  # An unbuffered file may take a part.
        view = view[file.write(view) :]


def _records(data: bytes, at: int) -> Iterator[bytes]:
    while len(data) - at >= FRAME.size:
        length, checksum = FRAME.unpack_from(data, at)
        begin = at + FRAME.size
        record = data[begin : begin + length]
        if length > MAX_RECORD_BYTES or len(record) < length or zlib.crc32(record) != checksum:
            return
        yield record
        at = begin + length
