"""Weights from the trainer to every replica: the store owns them, so they outlive who sent them."""

import asyncio
import logging
import time
from collections.abc import Callable
from pathlib import Path

import ray

from app.errors import ModelMismatchError
from app.stores.frozen_weights import FrozenWeights
from app.stores.weight_files import StoredWeights, WeightFiles
from app.stores.weight_shelf import Entry, KeptVersion, Newer, Shelf
from app.stores.weights_format import size_of
from app.types import Arrays, Version

KEPT = 3
"""Newest versions kept in the object store, beside the pinned ones."""
POLL_S = 20.0
"""Longest wait of a long poll; then the replica asks again."""
DISK_EVERY_S = 1.0
"""Least time between two writes of the newest weights to disk."""

DISK_AFTER_S = 0.25
"""Pause before the newest weights are written: replicas that take them up go first."""

_log = logging.getLogger(__name__)


class WeightStore:
    """Keeps the last versions of each model and tells who waits that there is a newer one."""

    def __init__(self, folder: str, clones: str, clock: Callable[[], float] = time.time) -> None:
        """Makes a store.

        Args:
          folder: Where the newest version of each model lies on disk.
          clones: Where the trial's clones lie.
          clock: Returns Unix seconds.
        """
        self._files = WeightFiles(Path(folder))
        self._frozen = FrozenWeights(Path(clones))
        self._clock = clock
        self._shelves: dict[str, Shelf] = {}
        self._declaring = asyncio.Lock()

    async def start(self) -> None:
        """Takes up what an earlier process of this store left on disk."""
        for model, (spec_hash, generation) in (await asyncio.to_thread(self._files.declared)).items():
            self._shelves[model] = Shelf(spec_hash, generation)
        for stored in await asyncio.to_thread(self._files.load):
            meta, version = stored.meta, stored.version
            known = self._shelves.get(stored.model)
            if known is not None and known.spec_hash != meta.spec_hash:
                continue  # Of a network that the service does not play any more.
            generation = max(version.generation, 0 if known is None else known.generation)
            shelf = self._shelves[stored.model] = Shelf(meta.spec_hash, generation)
            ref = await asyncio.to_thread(ray.put, stored.arrays)
            shelf.versions[version] = Entry(
                ref, meta.published_s, size_of(stored.arrays), meta.parent, meta.content_hash
            )

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
            await self._declare()

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
        shelf.generation = generation = max(shelf.generation, after) + 1
        await self._declare()
        return generation

    async def publish(self, model: str, version: Version, arrays: Arrays, parent: Version | None = None) -> None:
        """Takes new weights; they reach every replica that waits.

        Those of a generation that has been followed by another come too late and are ignored. The copy into the object
        store is made in a thread: this process answers others meanwhile.
        """
        shelf = self._shelf(model)
        if shelf.too_late(version):
            return
        async with shelf.publishing:
            ref = await asyncio.to_thread(ray.put, arrays)
            await self._show(model, shelf, version, Entry(ref, self._clock(), size_of(arrays), parent))

    async def newer(self, model: str, than: Version) -> Newer | None:
        """Returns the newest version and its weights as soon as it is not ``than``; None after a while."""
        shelf = self._shelf(model)
        async with shelf.changed:
            try:
                async with asyncio.timeout(POLL_S):
                    await shelf.changed.wait_for(lambda: shelf.newest() not in (None, than))
            except TimeoutError:
                return None
            version, entry = next(reversed(shelf.versions.items()))
            return Newer(version, entry.published_s, [entry.ref])

    async def fetch(self, model: str, version: Version) -> "list[ray.ObjectRef[Arrays]]":
        """Returns the weights of a version as the only item of a list; an empty list where they are not kept.

        Raises:
          ModelMismatchError: The version is that of a frozen clone which is damaged, or of another network.
        """
        shelf = self._shelf(model)
        entry = shelf.versions.get(version)
        if entry is not None:
            return [entry.ref]
        frozen = await self._frozen.find(version, shelf.spec_hash) if version.frozen else None
        return [] if frozen is None else [frozen]

    async def kept(self) -> dict[str, list[KeptVersion]]:
        """Returns what is kept of each model, the newest last."""
        return {
            model: [await shelf.kept(version, entry) for version, entry in list(shelf.versions.items())]
            for model, shelf in self._listed()
        }

    async def find(self, model: str, version: Version | None) -> KeptVersion | None:
        """Returns what is kept of one version, None the newest; None where it is not kept, or the model unknown."""
        shelf = self._shelves.get(model)
        wanted = None if shelf is None else shelf.newest() if version is None else version
        if shelf is None or wanted is None or wanted not in shelf.versions:
            return None
        return await shelf.kept(wanted, shelf.versions[wanted])

    async def ages_s(self) -> dict[str, float | None]:
        """Returns the seconds since the newest weights of each model came; None where nothing was published."""
        now_s = self._clock()
        return {
            model: None if (newest := shelf.newest()) is None else max(0.0, now_s - shelf.versions[newest].published_s)
            for model, shelf in self._listed()
        }

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
        if version is not None and version.frozen:  # Its clone stays anyhow.
            return version if await self.fetch(model, version) else None
        shelf = self._shelf(model)
        wanted = shelf.newest() if version is None else version
        if wanted is None or wanted not in shelf.versions:
            return None
        shelf.pinned[wanted] += 1
        return wanted

    async def unpin(self, model: str, version: Version) -> None:
        """Takes one pin back; a version without any goes with the next publish."""
        if version.frozen:
            return
        pinned = self._shelf(model).pinned
        pinned[version] -= 1
        if pinned[version] <= 0:
            del pinned[version]

    def _shelf(self, model: str) -> Shelf:
        if model not in self._shelves:
            known = ", ".join(sorted(self._shelves)) or "none"
            raise ModelMismatchError(f"the service plays no model {model!r}; it plays: {known}")
        return self._shelves[model]

    async def _declare(self) -> None:
        """Keeps which models are played, so that this store's next process knows them before there are weights."""
        models = {model: (shelf.spec_hash, shelf.generation) for model, shelf in self._shelves.items()}
        async with self._declaring:
            try:
                await asyncio.to_thread(self._files.declare, models)
            except OSError as error:
                _log.warning("which models are played is not on disk: %s", error)

    def _listed(self) -> list[tuple[str, Shelf]]:
        return sorted(self._shelves.items())

    async def _show(self, model: str, shelf: Shelf, version: Version, entry: Entry) -> None:
        """Puts a version on its shelf and tells who waits for it."""
        async with shelf.changed:
            if shelf.too_late(version):
                return
            shelf.versions[version] = entry
            for old in [v for v in shelf.versions if v not in shelf.pinned][:-KEPT]:
                del shelf.versions[old]
            shelf.changed.notify_all()
        shelf.unwritten = (version, entry)
        if shelf.writing is None or shelf.writing.done():
            shelf.writing = asyncio.create_task(self._write(model, shelf))

    async def _write(self, model: str, shelf: Shelf) -> None:
        """Writes to disk at most once a second; of versions that come in between, only the last."""
        while shelf.unwritten is not None:
            await asyncio.sleep(DISK_AFTER_S)
            (version, entry), shelf.unwritten = shelf.unwritten, None
            try:
                meta = await entry.meta(shelf.spec_hash, version)
                arrays = await asyncio.to_thread(ray.get, entry.ref)
                await asyncio.to_thread(self._files.save, StoredWeights(model, meta, arrays))
            except (OSError, ValueError) as error:
                _log.warning("weights %s of %s are not on disk: %s", version, model, error)
            del entry  # Its weights would else be kept until the next ones come.
            await asyncio.sleep(DISK_EVERY_S)
