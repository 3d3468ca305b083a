"""Weights of a trial's frozen clones, for sessions that play them; those that were asked for last stay in memory."""

import asyncio
import logging
from collections import OrderedDict
from pathlib import Path
from typing import Final

import ray

from app.errors import CheckpointError, ModelMismatchError
from app.models.lineage import clone_prefix
from app.models.saved import read_meta, read_model
from app.stores.weights_format import size_of
from app.types import Arrays, Version

KEPT_BYTES: Final = 2**30
"""Bytes of clones in the object store; at least one clone, however large, stays there."""
KEPT_MAX: Final = 256
"""Clones there."""

_log = logging.getLogger(__name__)


class FrozenWeights:
    """Reads each clone once, in a thread, and again when others have taken its room."""

    def __init__(self, clones: Path) -> None:
        """Keeps the folder of the trial's clones, which need not be there yet."""
        self._clones = clones
        self._kept: OrderedDict[tuple[Version, str], tuple[ray.ObjectRef[Arrays], int]] = OrderedDict()
        self._reading = asyncio.Lock()

    async def find(self, version: Version, spec_hash: str) -> "ray.ObjectRef[Arrays] | None":
        """Returns the weights of the clone that is asked under a version; None where there is none.

        Args:
          version: See ``Clone.version``.
          spec_hash: Of the network that is to play them.

        Raises:
          ModelMismatchError: The clone is damaged, or of another network.
        """
        key = (version, spec_hash)
        async with self._reading:
            if key not in self._kept:
                arrays = await asyncio.to_thread(self._read, version, spec_hash)
                if arrays is None:
                    return None
                self._kept[key] = await asyncio.to_thread(ray.put, arrays), size_of(arrays)
            self._kept.move_to_end(key)
            self._make_room()
            return self._kept[key][0]

    def _read(self, version: Version, spec_hash: str) -> Arrays | None:
        found: list[str] = []
        for folder in sorted(self._clones.glob(f"{clone_prefix(version)}*")):
            try:
                meta = read_meta(folder)
                if not meta.get("frozen"):
                    continue
                if meta["spec_hash"] == spec_hash:
                    return read_model(folder).arrays
            except CheckpointError as error:
                raise ModelMismatchError(f"the frozen clone {version} cannot be played: {error}") from error
            found.append(f"{folder.name} has the shapes {meta['spec_hash']}")
        if found:
            raise ModelMismatchError(f"the frozen clone {version} is of another network: {', '.join(found)}")
        return None

    def _make_room(self) -> None:
        while len(self._kept) > 1 and (
            len(self._kept) > KEPT_MAX or sum(size for _, size in self._kept.values()) > KEPT_BYTES
        ):
            self._kept.popitem(last=False)
