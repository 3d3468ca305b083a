"""Where the store keeps the versions of one model."""

import asyncio
from collections import Counter, OrderedDict
from dataclasses import dataclass, field
from typing import NamedTuple

import ray

from app.models.content import content_hash
from app.stores.weights_format import WeightsMeta
from app.types import Arrays, Version


class Newer(NamedTuple):
    """Weights that came after others."""

    version: Version
    published_s: float
    """Unix seconds at which they came."""
    refs: "list[ray.ObjectRef[Arrays]]"
    """The weights, as the only item: a reference that travels by itself would be resolved on the way."""


class KeptVersion(NamedTuple):
    """One version that the store keeps, as an operator sees it."""

    meta: WeightsMeta
    size_bytes: int
    """Of its arrays."""
    pinned: int
    """How often it is pinned."""


@dataclass(slots=True)
class Entry:
    """One version of a model's weights."""

    ref: "ray.ObjectRef[Arrays]"
    published_s: float
    size_bytes: int
    parent: Version | None = None
    content_hash: str | None = None
    """None until somebody needs it."""

    async def meta(self, spec_hash: str, version: Version) -> WeightsMeta:
        """Returns the metadata of a version; its hash is computed once, in a thread."""
        if self.content_hash is None:
            self.content_hash = await asyncio.to_thread(_hash_of, self.ref, spec_hash)
        return WeightsMeta(spec_hash, version, self.content_hash, self.parent, self.published_s)


@dataclass(slots=True)
class Shelf:
    """Versions of one model, the newest last."""

    spec_hash: str
    generation: int = 0
    versions: "OrderedDict[Version, Entry]" = field(default_factory=OrderedDict)
    pinned: Counter[Version] = field(default_factory=Counter)
    """How often each version is pinned."""
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)
    publishing: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Keeps versions in the order in which they were sent."""
    unwritten: tuple[Version, Entry] | None = None
    """Newest weights that are not on disk yet."""
    writing: "asyncio.Task[None] | None" = None

    def newest(self) -> Version | None:
        """Returns the newest version; None where nothing was published."""
        return next(reversed(self.versions)) if self.versions else None

    def too_late(self, version: Version) -> bool:
        """Returns whether a later generation of a trainer has published already."""
        newest = self.newest()
        return newest is not None and version.generation < newest.generation

    async def kept(self, version: Version, entry: Entry) -> KeptVersion:
        """Returns a version as an operator sees it, even if it leaves the shelf meanwhile."""
        return KeptVersion(await entry.meta(self.spec_hash, version), entry.size_bytes, self.pinned[version])


def _hash_of(ref: "ray.ObjectRef[Arrays]", spec_hash: str) -> str:
    arrays: Arrays = ray.get(ref)
    return content_hash(arrays, spec_hash)
