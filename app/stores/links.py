"""The shards of a buffer as its dealer reaches them: its own, and those of other processes."""

import asyncio
import logging
from pathlib import Path
from typing import Final

from ray.exceptions import RayError, RayTaskError

from app.errors import CheckpointError
from app.stores.host import StoreHandle
from app.stores.shard import ShardStore
from app.stores.signal import Signal

CALL_TIMEOUT_S: Final = 10.0
"""Longest wait for a shard of another process."""
WRITE_TIMEOUT_S: Final = 600.0
"""Longest wait for the file of a table."""
AGAIN_S: Final = 1.0
"""Pause before a shard that does not answer is asked again: its process restarts."""

_log = logging.getLogger(__name__)


class OwnShard:
    """The shard of the dealer's own process."""

    def __init__(self, shard: ShardStore) -> None:
        self._shard = shard

    @property
    def batches(self) -> int:
        """Returns how many batches it can draw."""
        return self._shard.batches()

    async def draw(self, number: int) -> bool:
        """Has it draw a batch and keep it; returns False where it has none."""
        return await self._shard.draw(number)

    async def drop(self, numbers: list[int]) -> None:
        """Has it forget batches."""
        await self._shard.drop(numbers)


async def write_table(handle: StoreHandle, path: Path) -> None:
    """Has a shard of another process write its table.

    Raises:
      CheckpointError: It cannot, or does not answer.
    """
    try:
        async with asyncio.timeout(WRITE_TIMEOUT_S):
            await handle.call("write_table", path)
    except (RayError, TimeoutError) as error:
        reason = error.cause if isinstance(error, RayTaskError) else error
        raise CheckpointError(f"a buffer's shard has not written {path}: {reason}") from error


class RemoteShard:
    """A shard of another process, which is asked again and again how many batches it has."""

    def __init__(self, handle: StoreHandle, changed: Signal) -> None:
        self._handle, self._changed = handle, changed
        self._batches = 0

    @property
    def batches(self) -> int:
        """Returns how many batches it said it could draw."""
        return self._batches

    async def follow(self) -> None:
        """Asks for as long as it runs."""
        while True:
            try:
                async with asyncio.timeout(CALL_TIMEOUT_S):
                    batches = await self._handle.call("ready", self._batches)
            except (RayError, TimeoutError) as error:
                _log.warning("a buffer's shard does not answer, asking it again: %s", error)
                batches = 0
                await asyncio.sleep(AGAIN_S)
            if batches != self._batches:
                self._batches = batches
                self._changed.set()

    async def draw(self, number: int) -> bool:
        """Has it draw a batch and keep it; returns False where it has none, or does not answer."""
        self._batches = max(0, self._batches - 1)
        try:
            async with asyncio.timeout(CALL_TIMEOUT_S):
                drawn = bool(await self._handle.call("draw", number))
        except (RayError, TimeoutError) as error:
            _log.warning("a buffer's shard does not draw a batch: %s", error)
            self._handle.call("drop", [number])  # It may still draw it; nobody waits for either.
            drawn = False
        if not drawn:
            self._batches = 0  # Until it says otherwise.
        return drawn

    async def drop(self, numbers: list[int]) -> None:
        """Has it forget batches."""
        try:
            async with asyncio.timeout(CALL_TIMEOUT_S):
                await self._handle.call("drop", numbers)
        except (RayError, TimeoutError) as error:
            _log.warning("a buffer's shard does not drop batches: %s", error)
