"""Which model came from which: a forest of clones, as values."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from app.errors import CheckpointError
from app.types import Version

ID_CHARACTERS: Final = 12
"""Characters of the content hash that an id begins with."""
SHOWN: Final = 20
"""Ids listed in an error message."""


@dataclass(frozen=True, slots=True)
class Clone:
    """A model that was set apart."""

    id: str
    """The first characters of its hash; ``-2``, ``-3`` … behind them where there are several of one content."""
    hash: str
    """Content hash of its weights when it was made; see ``app.models.content``."""
    model: str
    """Model of the config that it is a version of."""
    parent: str | None
    """Clone that it was made of; None where it was made of something else."""
    origin: str
    """What it was made of, as it was named: a checkpoint, a registered version, a clone."""
    step: int | None
    """Updates that its weights had seen; None where that is unknown."""
    frozen: bool
    """False: a trainer of its own goes on from it, with checkpoints of its own."""
    created_at: str
    """When it was made: UTC, ISO 8601."""

    @property
    def version(self) -> Version:
        """Version that a session asks for to play against these weights; it follows from their content."""
        return frozen_version(self.hash)


def frozen_version(content: str) -> Version:
    """Returns the version under which a frozen clone of this content hash is asked."""
    return Version(0, int(content[:ID_CHARACTERS], 16))


def clone_prefix(version: Version) -> str:
    """Returns what the id of a clone begins with that is asked under such a version."""
    return f"{version.number:0{ID_CHARACTERS}x}"


class Lineage:
    """All clones of one pool; a parent is in the pool, or it is gone and its children are roots."""

    def __init__(self, clones: Iterable[Clone]) -> None:
        """Keeps the clones.

        Raises:
          CheckpointError: Two have one id, or one is its own ancestor.
        """
        self._clones: dict[str, Clone] = {}
        for clone in sorted(clones, key=lambda clone: (clone.created_at, clone.id)):
            if clone.id in self._clones:
                raise CheckpointError(f"two clones have the id {clone.id}; an id is there once")
            self._clones[clone.id] = clone
        self._refuse_circles()

    def __len__(self) -> int:
        return len(self._clones)

    def __iter__(self) -> Iterator[Clone]:
        """Yields the clones, oldest first."""
        return iter(self._clones.values())

    def ancestors(self, clone_id: str) -> tuple[Clone, ...]:
        """Returns the parent, its parent and so on.

        Raises:
          CheckpointError: There is no such clone.
        """
        found: list[Clone] = []
        above = self._above(self._get(clone_id))
        while above is not None:
            found.append(above)
            above = self._above(above)
        return tuple(found)

    def children(self, clone_id: str) -> tuple[Clone, ...]:
        """Returns the clones made of this one, oldest first.

        Raises:
          CheckpointError: There is no such clone.
        """
        self._get(clone_id)
        return tuple(clone for clone in self if clone.parent == clone_id)

    def roots(self) -> tuple[Clone, ...]:
        """Returns the clones without a parent in the pool, oldest first."""
        return tuple(clone for clone in self if clone.parent not in self._clones)

    def find(self, text: str) -> Clone:
        """Returns the clone with this id, or the only one whose content hash begins so.

        Raises:
          CheckpointError: There is none, or there are several; the message names them.
        """
        if text in self._clones:
            return self._clones[text]
        found = [clone for clone in self if text and clone.hash.startswith(text)]
        if len(found) == 1:
            return found[0]
        if found:
            raise CheckpointError(f"{text!r} may be any of the clones {_listed(found)}; allowed is one whole id")
        raise CheckpointError(f"there is no clone {text!r}; there are {_listed(tuple(self))}")

    def same(self, content: str, parent: str | None, origin: str) -> Clone | None:
        """Returns the frozen clone of this content that was made of the same; None where there is none."""
        wanted = (content, parent, origin)
        return next((c for c in self if c.frozen and (c.hash, c.parent, c.origin) == wanted), None)

    def of_content(self, content: str) -> tuple[Clone, ...]:
        """Returns the clones that were made with this content, oldest first."""
        return tuple(clone for clone in self if clone.hash == content)

    def next_id(self, content: str, taken: Collection[str] = ()) -> str:
        """Returns the id of the next clone of this content, none of those that are taken."""
        short, count = content[:ID_CHARACTERS], 1
        new_id = short
        while new_id in self._clones or new_id in taken:
            count += 1
            new_id = f"{short}-{count}"
        return new_id

    def _above(self, clone: Clone) -> Clone | None:
        return None if clone.parent is None else self._clones.get(clone.parent)

    def _refuse_circles(self) -> None:
        rooted: set[str] = set()
        for clone in self:
            way: list[str] = []
            above: Clone | None = clone
            while above is not None and above.id not in rooted:
                if above.id in way:
                    raise CheckpointError(f"clone {above.id} is its own ancestor, by way of {', '.join(way)}")
                way.append(above.id)
                above = self._above(above)
            rooted.update(way)

    def _get(self, clone_id: str) -> Clone:
        if clone_id not in self._clones:
            raise CheckpointError(f"there is no clone {clone_id!r}; there are {_listed(tuple(self))}")
        return self._clones[clone_id]


def _listed(clones: tuple[Clone, ...] | list[Clone]) -> str:
    if not clones:
        return "no clones"
    shown = ", ".join(f"{c.id} ({'frozen' if c.frozen else 'trainable'}, step {c.step})" for c in clones[-SHOWN:])
    return shown if len(clones) <= SHOWN else f"{shown} and {len(clones) - SHOWN} older ones"
