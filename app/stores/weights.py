"""Weights from the trainer to every replica: the store owns them, so they outlive who sent them."""

import asyncio
import logging
from collections import Counter, OrderedDict
from dataclasses import dataclass, field
from pathlib import Path

import ray
from safetensors import SafetensorError

from app.errors import ModelMismatchError
from app.stores.weight_files import StoredWeights, WeightFiles
from app.types import Arrays, Version

KEPT = 3
"""Newest versions kept in the object store, beside the pinned ones."""
POLL_S = 20.0
"""Longest wait of a long poll; then the replica asks again."""
DISK_EVERY_S = 1.0
"""Least time between two writes of the newest weights to disk."""

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Shelf:
    """Versions of one model, the newest last."""

    spec_hash: str
    generation: int = 0
    versions: "OrderedDict[Version, ray.ObjectRef[Arrays]]" = field(default_factory=OrderedDict)
    pinned: Counter[Version] = field(default_factory=Counter)
    """How often each version is pinned."""
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)
    unwritten: StoredWeights | None = None
    """Newest weights that are not on disk yet."""
    writing: "asyncio.Task[None] | None" = None

    def newest(self) -> Version | None:
        """Returns the newest version; None where nothing was published."""
        return next(reversed(self.versions)) if self.versions else None


class WeightStore:
    """Keeps the last versions of each model and tells who waits that there is a newer one."""

    def __init__(self, folder: str) -> None:
        """Makes a store.

        Args:
          folder: Where the newest version of each model lies on disk.
        """
        self._files = WeightFiles(Path(folder))
        self._shelves: dict[str, Shelf] = {}

    async def start(self) -> None:
        """Takes up what an earlier process of this store left on disk."""
        for stored in await asyncio.to_thread(self._files.load):
            shelf = self._shelves[stored.model] = Shelf(stored.spec_hash, stored.version.generation)
            shelf.versions[stored.version] = ray.put(stored.arrays)

    async def register(self, model: str, spec_hash: str, fixed: bool = False) -> None:
        """Declares a model that the service plays; weights of other shapes are forgotten.

        Args:
          model: Which.
          spec_hash: Of its network.
          fixed: It plays weights that its config names and nothing else: what a trainer had published is forgotten too.
        """
        if fixed or model not in self._shelves or self._shelves[model].spec_hash != spec_hash:
            generation = self._shelves[model].generation if model in self._shelves else 0
            self._shelves[model] = Shelf(spec_hash, generation)

    async def begin(self, model: str, spec_hash: str, after: int = 0) -> int:
        """Returns the generation of a trainer that starts; it grows with each start.

        Args:
          model: Which is trained.
          spec_hash: Of the trainer's network.
          after: A generation that it must be larger than: that of the newest checkpoint, which may be older than what
            this store knows.

        Raises:
          ModelMismatchError: The service plays a model of other shapes.
        """
        shelf = self._shelf(model)
        if shelf.spec_hash != spec_hash:
            raise ModelMismatchError(
                f"model {model!r} has the shapes {spec_hash} in the trainer and {shelf.spec_hash} in the running "
                "service; start both with one config, and restart the service after a change of the network"
            )
        shelf.generation = max(shelf.generation, after) + 1
        return shelf.generation

    async def publish(self, model: str, version: Version, arrays: Arrays) -> None:
        """Takes new weights; they reach every replica that waits.

        Those of a generation that has been followed by another come too late and are ignored.
        """
        shelf = self._shelf(model)
        newest = shelf.newest()
        if newest is not None and version.generation < newest.generation:
            return
        async with shelf.changed:
            shelf.versions[version] = ray.put(arrays)
            for old in [v for v in shelf.versions if v not in shelf.pinned][:-KEPT]:
                del shelf.versions[old]
            shelf.changed.notify_all()
        shelf.unwritten = StoredWeights(model, shelf.spec_hash, version, arrays)
        if shelf.writing is None or shelf.writing.done():
            shelf.writing = asyncio.create_task(self._write(shelf))

    async def newer(self, model: str, than: Version) -> "tuple[Version, list[ray.ObjectRef[Arrays]]] | None":
        """Returns the newest version and its weights as soon as it is not ``than``; None after a while."""
        shelf = self._shelf(model)
        async with shelf.changed:
            try:
                async with asyncio.timeout(POLL_S):
                    await shelf.changed.wait_for(lambda: shelf.newest() not in (None, than))
            except TimeoutError:
                return None
            version, ref = next(reversed(shelf.versions.items()))
            return version, [ref]

    async def fetch(self, model: str, version: Version) -> "list[ray.ObjectRef[Arrays]]":
        """Returns the weights of a version as the only item of a list; an empty list where they are not kept."""
        ref = self._shelf(model).versions.get(version)
        return [] if ref is None else [ref]

    async def newest(self, model: str) -> Version | None:
        """Returns the newest version; None where nothing was published."""
        return self._shelf(model).newest()

    async def versions(self) -> dict[str, Version | None]:
        """Returns the newest version of each model; None where nothing was published."""
        return {model: shelf.newest() for model, shelf in self._shelves.items()}

    async def pin(self, model: str, version: Version | None) -> Version | None:
        """Keeps a version until it is unpinned as often as it was pinned, and returns it.

        Args:
          model: Whose.
          version: Which; None means the newest.

        Returns:
          The version; None where it is not kept or nothing was published.
        """
        shelf = self._shelf(model)
        wanted = shelf.newest() if version is None else version
        if wanted is None or wanted not in shelf.versions:
            return None
        shelf.pinned[wanted] += 1
        return wanted

    async def unpin(self, model: str, version: Version) -> None:
        """Takes one pin back; a version without any goes with the next publish."""
        pinned = self._shelf(model).pinned
        pinned[version] -= 1
        if pinned[version] <= 0:
            del pinned[version]

    def _shelf(self, model: str) -> Shelf:
        if model not in self._shelves:
            known = ", ".join(sorted(self._shelves)) or "none"
            raise ModelMismatchError(f"the service plays no model {model!r}; it plays: {known}")
        return self._shelves[model]

    async def _write(self, shelf: Shelf) -> None:
        """Writes to disk at most once a second; of versions that come in between, only the last."""
        while (stored := shelf.unwritten) is not None:
            shelf.unwritten = None
            try:
                await asyncio.to_thread(self._files.save, stored)
            except (OSError, SafetensorError) as error:
                _log.warning("weights %s of %s are not on disk: %s", stored.version, stored.model, error)
            await asyncio.sleep(DISK_EVERY_S)
