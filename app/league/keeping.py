"""A league's folder: snapshots, and the journal of what came after each."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.errors import LeagueError
from app.league.about import refuse_other_rating
from app.league.events import Event, from_bytes
from app.league.image import Image, read_image, write_image
from app.league.journal import cut_torn_end, read_segment, segment_path, segments
from app.league.settings import LeagueSettings
from app.league.state import LeagueState, new_state

SNAPSHOTS_KEPT: Final = 2
"""Newest snapshots: one, and the one before in case it is damaged."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Restored:
    """What a folder holds."""

    state: LeagueState
    segment: int
    """Segment that the journal goes on with."""
    events: int
    """Events that were applied after the snapshot."""
    snapshot: int | None
    """Segment that the snapshot stands before; None without one."""


def restore(folder: Path, settings: LeagueSettings, *, cut: bool = True) -> Restored:
    """Returns the league of a folder: its newest snapshot that can be read, and all events after it.

    An empty or missing folder gives a league that has not begun.

    Args:
      folder: The league's.
      settings: How it goes about it.
      cut: Whether a torn end of the newest segment is cut off, so that the journal can go on; False changes nothing.

    Raises:
      LeagueError: A file is damaged otherwise, or one is missing.
    """
    refuse_other_rating(folder, settings)
    there = segments(folder)
    state, snapshot = _newest_snapshot(folder, settings, there)
    first = snapshot or (there[0] if there else 1)
    wanted = [number for number in there if number >= first]
    if wanted and wanted != list(range(first, wanted[-1] + 1)):
        missing = next(number for number in range(first, wanted[-1]) if number not in wanted)
        raise LeagueError(f"the league's journal in {folder} lacks {segment_path(folder, missing).name}")
    if snapshot is None and there and there[0] != 1:
        raise LeagueError(f"no snapshot in {folder} can be read, and its journal begins with segment {there[0]}")
    count = 0
    for number in wanted:
        for event in _events(segment_path(folder, number), newest=number == wanted[-1], cut=cut):
            state.apply(event)
            count += 1
    return Restored(state, wanted[-1] if wanted else first, count, snapshot)


def save(folder: Path, segment: int, image: Image, keep_bytes: int | None = None) -> None:
    """Writes the image that stands before a segment, and removes what is no longer needed.

    Args:
      folder: The league's.
      segment: First segment that is not in the image.
      image: Of the league.
      keep_bytes: Size of the segments that stay as the match log; None keeps all.

    Raises:
      OSError: It cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    write_image(snapshot_path(folder, segment), image)
    kept = snapshots(folder)[-SNAPSHOTS_KEPT:]
    for number in snapshots(folder):
        if number < kept[0]:
            snapshot_path(folder, number).unlink(missing_ok=True)
    if keep_bytes is not None:
        _trim(folder, kept[0], keep_bytes)


def history(folder: Path) -> Iterator[Event]:
    """Yields all events that a folder still has, oldest first; a torn end is left out.

    Raises:
      LeagueError: A file cannot be read.
    """
    for number in segments(folder):
        yield from map(from_bytes, read_segment(segment_path(folder, number)).records)


def snapshot_path(folder: Path, segment: int) -> Path:
    """Returns the file of the snapshot that stands before a segment."""
    return folder / f"snapshot-{segment:08d}.bin"


def snapshots(folder: Path) -> list[int]:
    """Returns the segments that a folder has snapshots before, oldest first."""
    return sorted(int(path.stem.removeprefix("snapshot-")) for path in folder.glob("snapshot-????????.bin"))


def _newest_snapshot(folder: Path, settings: LeagueSettings, there: list[int]) -> tuple[LeagueState, int | None]:
    broken: LeagueError | None = None
    for number in reversed(snapshots(folder)):
        try:
            return read_image(snapshot_path(folder, number), settings), number
        except LeagueError as error:
            _log.error("%s; the one before is taken, and the journal since then", error)
            broken = error
    if broken is not None and (not there or there[0] != 1):
        raise broken
    return new_state(settings), None


def _events(path: Path, *, newest: bool, cut: bool) -> Iterator[Event]:
    read = cut_torn_end(path) if newest and cut else read_segment(path)
    if not newest and read.good_bytes != read.size_bytes:
        raise LeagueError(f"{path} is damaged at byte {read.good_bytes} of {read.size_bytes}, and newer files follow")
    yield from map(from_bytes, read.records)


def _trim(folder: Path, needed: int, keep_bytes: int) -> None:
    """Removes the oldest segments beyond a size, but none from ``needed`` on."""
    size = 0
    for number in reversed(segments(folder)):
        path = segment_path(folder, number)
        size += path.stat().st_size
        if size > keep_bytes and number < needed:
            path.unlink(missing_ok=True)
