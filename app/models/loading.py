"""Brings weights into an engine without making its batches wait."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final

from app.errors import AgentError, ModelMismatchError, OverloadedError, SparringError
from app.models.engine import Engine, told
from app.types import Arrays, Version

LOAD_TIMEOUT_S: Final = 30.0
"""Longest fetch of one version; who waits for it has a shorter time-out of its own."""
LOADS_MAX: Final = 32
"""Versions that may be on their way at once."""

FetchWeights = Callable[[Version], Awaitable[Arrays]]
"""Brings the weights of a version from the weight store."""


class WeightsLoader:
    """Fetches and builds versions of one engine; whoever waits for the same one waits for the same load."""

    def __init__(self, engine: Engine, fetch: FetchWeights, timeout_s: float = LOAD_TIMEOUT_S) -> None:
        self._engine = engine
        self._fetch = fetch
        self._timeout_s = timeout_s
        self._loading: dict[Version, asyncio.Task[None]] = {}

    async def take(self, version: Version, arrays: Arrays) -> None:
        """Makes these the newest weights; the batches of the old ones go on while they are built.

        Raises:
          ModelMismatchError: They do not fit the model.
        """
        self._engine.swap(version, await asyncio.to_thread(self._built, arrays))

    async def ensure(self, version: Version | None) -> Version:
        """Holds a version until it is released, and returns it.

        Args:
          version: Which; None is the newest, or the newest of those in play where no other may be kept.

        Raises:
          ModelMismatchError: It is no longer kept, or does not fit the model.
          OverloadedError: Too many versions are in play, or on their way.
          AgentError: It could not be fetched.
        """
        wanted = self._newest() if version is None else version
        while not self._engine.has(wanted):
            if wanted == self._engine.version:
                self._engine.keep(wanted)
            else:
                await self._loaded(wanted)
        self._engine.hold(wanted)
        return wanted

    def release(self, version: Version) -> None:
        """Lets a version go that ``ensure`` returned."""
        self._engine.release(version)

    def _newest(self) -> Version:
        newest = self._engine.version
        return newest if self._engine.has(newest) else self._engine.newest_in_play() or newest

    async def _loaded(self, version: Version) -> None:
        """Waits for a version; one who gives up leaves the load to the others."""
        if version not in self._loading:
            if len(self._loading) >= LOADS_MAX:
                raise OverloadedError(f"{LOADS_MAX} versions of weights are on their way already")
            task = self._loading[version] = asyncio.get_running_loop().create_task(self._load(version))
            task.add_done_callback(lambda done: self._settle(version, done))
        await asyncio.shield(self._loading[version])

    async def _load(self, version: Version) -> None:
        try:
            async with asyncio.timeout(self._timeout_s):
                arrays = await self._fetch(version)
            self._engine.keep(version, await asyncio.to_thread(self._built, arrays))
        except TimeoutError as error:
            raise AgentError(f"weights {version} did not come within {self._timeout_s:g} s") from error
        except SparringError:
            raise
        except Exception as error:
            raise AgentError(f"weights {version} could not be loaded: {type(error).__name__}: {error}") from error

    def _built(self, arrays: Arrays) -> Any:
        try:
            return self._engine.build(arrays)
        except ModelMismatchError:
            raise
        except Exception as error:  # Of torch, of ONNX Runtime or of the user's module.
            raise ModelMismatchError(f"these weights cannot be loaded: {told(error)}") from error

    def _settle(self, version: Version, done: asyncio.Task[None]) -> None:
        del self._loading[version]
        if not done.cancelled():
            done.exception()  # Whoever waited has been told; there may be nobody left.
