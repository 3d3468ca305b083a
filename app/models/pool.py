"""The clones of one trial on disk: a folder each, its weights stored once for all clones of the same content."""

import logging
import os
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from app.errors import CheckpointError
from app.models.content import content_hash
from app.models.folders import UNFINISHED, write_folder
from app.models.lineage import Clone, Lineage
from app.models.saved import META, WEIGHTS, SavedModel, read_meta, read_model, write_meta, write_model

CLONES: Final = "clones"
"""Folder of the clones inside a trial's."""
STALE_S: Final = 3600.0
"""Age after which an unfinished clone is taken for one whose writer was killed."""
TRIES_MAX: Final = 100
"""Processes that may take the next id from under our hands, one after another."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Source:
    """Weights that a clone can be made of."""

    saved: SavedModel
    origin: str
    """What they are, as a user names it."""
    parent: str | None = None
    """The clone of the same pool that they are of; None where they are of none."""
    step: int | None = None
    """Updates that they have seen; None where that is unknown."""


class ModelPool:
    """Makes and finds the clones below one folder; several processes may do so at a time."""

    def __init__(self, folder: Path, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        """Keeps the folder, which is made when it is needed.

        Args:
          folder: ``clones`` of a trial.
          now: Tells the time.
        """
        self._folder = folder
        self._now = now

    def lineage(self) -> Lineage:
        """Returns all clones; one whose ``model.json`` is damaged is named in the log and passed over."""
        return Lineage(clone for path in self._folders() if (clone := _sound(path)) is not None)

    def clone(self, source: Source, model: str, *, frozen: bool) -> Clone:
        """Sets weights apart under an id of their own and returns what they are known as.

        Args:
          source: The weights.
          model: Model of the config that they are a version of.
          frozen: True: nothing ever changes; what is there already, made of the same, is returned as it is. False: a
            trainer of its own may go on from it; each call makes another one.

        Raises:
          CheckpointError: It cannot be written, or its parent is none of this pool.
        """
        content = content_hash(source.saved.arrays, source.saved.spec_hash)
        try:
            self._remove_left_overs()
            for _ in range(TRIES_MAX):
                lineage = self.lineage()
                if source.parent is not None:
                    lineage.find(source.parent)
                known = lineage.same(content, source.parent, source.origin) if frozen else None
                if known is not None:
                    return known
                created_at = self._now().isoformat(timespec="microseconds")
                made = Clone(
                    lineage.next_id(content, {path.name for path in self._folders()}),
                    content,
                    model,
                    source.parent,
                    source.origin,
                    source.step,
                    frozen,
                    created_at,
                )
                if self._write(made, source.saved, lineage.of_content(content)):
                    return made
        except OSError as error:
            raise CheckpointError(f"cannot write a clone below {self._folder}: {error}; make room there") from error
        raise CheckpointError(f"cannot find a free id for a clone of {content} below {self._folder}")

    def folder(self, text: str) -> Path:
        """Returns the folder of a clone, which ``read_model`` reads.

        Raises:
          CheckpointError: There is no such clone, or several fit.
        """
        return self._folder / self.find(text).id

    def find(self, text: str) -> Clone:
        """Returns a clone by its id, or by the beginning of its content hash.

        Raises:
          CheckpointError: There is none in this folder, several fit, or it is damaged; the message names them.
        """
        if text in {path.name for path in self._folders()}:
            return _clone(self._folder / text)
        try:
            return self.lineage().find(text)
        except CheckpointError as error:
            raise CheckpointError(f"{self._folder}: {error}") from error

    def read(self, text: str) -> Source:
        """Returns a clone's weights, those that it was made with.

        Raises:
          CheckpointError: There is no such clone, or its files are damaged.
        """
        clone = self.find(text)
        saved = read_model(self._folder / clone.id)
        return Source(saved, f"{CLONES}/{clone.id}", clone.id, clone.step)

    def _folders(self) -> list[Path]:
        """Returns the folders of all clones, damaged ones included."""
        if not self._folder.is_dir():
            return []
        whole = [path for path in self._folder.iterdir() if not path.name.startswith(UNFINISHED)]
        return [path for path in whole if (path / META).is_file()]

    def _write(self, made: Clone, saved: SavedModel, same: tuple[Clone, ...]) -> bool:
        """Writes a clone, and returns False where another process has just taken its id."""
        target = self._folder / made.id
        more = {name: value for name, value in asdict(made).items() if name != "hash"}

        def fill(folder: Path) -> None:
            if any(_linked(self._folder / other.id, folder) for other in same):
                write_meta(folder, saved, more)
            else:
                write_model(folder, saved, more)

        try:
            write_folder(target, fill)
        except OSError:
            if target.is_dir():
                return False
            raise
        return True

    def _remove_left_overs(self) -> None:
        for path in self._folder.glob(f"{UNFINISHED}*"):
            with suppress(FileNotFoundError):  # Another process has just finished it.
                if time.time() - path.stat().st_mtime > STALE_S:
                    shutil.rmtree(path, ignore_errors=True)


def _sound(folder: Path) -> Clone | None:
    try:
        return _clone(folder)
    except CheckpointError as error:
        _log.warning("a damaged clone is passed over: %s", error)
        return None


def _clone(folder: Path) -> Clone:
    meta: dict[str, Any] = read_meta(folder)
    try:
        return Clone(
            id=folder.name,
            hash=meta["hash"],
            model=meta["model"],
            parent=meta["parent"],
            origin=meta["origin"],
            step=meta["step"],
            frozen=meta["frozen"],
            created_at=meta["created_at"],
        )
    except (KeyError, TypeError) as error:
        raise CheckpointError(f"{folder} is no clone: {META} says nothing of {error}") from error


def _linked(there: Path, here: Path) -> bool:
    """Gives a clone's weights a second name; False where they are damaged or the file system knows no such thing."""
    try:
        read_model(there)
        os.link(there / WEIGHTS, here / WEIGHTS)
    except (CheckpointError, OSError):
        return False
    return True
