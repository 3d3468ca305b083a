"""What a model replica does with a question, whichever way it came."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from app.models.batching import BatchLimits, sized
from app.models.engine import Answer, Engine
from app.models.loading import WeightsLoader
from app.models.placement import check_batch
from app.models.question import Leaves
from app.models.queue import LocalQueue
from app.models.waiting import Batch, Within
from app.types import Version


class Answering:
    """Joins the questions of all callers into batches, and answers each caller alone."""

    def __init__(self, engine: Engine, loader: WeightsLoader, limits: BatchLimits) -> None:
        self.spec = engine.spec
        self.queue = LocalQueue(engine.spec, sized(engine.forward, limits), limits)
        self._engine = engine
        self._loader = loader

    def ask(self, inputs: Leaves, states: Leaves, version: Version | None, within: Within) -> asyncio.Future[Answer]:
        """Returns the answer to come; a version that the replica lacks is fetched first, which holds up nobody else.

        Args:
          inputs: The leaves of the observations, each [B, …].
          states: The leaves of the states, each [B, …].
          version: Who is to answer.
          within: When answers are wanted, in seconds from now.

        Raises:
          OverloadedError: Too many wait already.
          ValueError: The question does not fit the model.
        """
        check_batch(self.spec, inputs, states)
        batch = Batch(inputs, states, version)
        if version is None:
            return self.queue.answer(batch, within)
        if self._engine.has(version):
            self._engine.hold(version)
            return self._asked(batch, version, within)
        return asyncio.get_running_loop().create_task(self._fetched(batch, version, within))

    @asynccontextmanager
    async def held(self, version: Version | None) -> AsyncIterator[None]:
        """Keeps a version answerable until the end of the block.

        Raises:
          ModelMismatchError: It is no longer kept.
          OverloadedError: Too many versions are in play, or on their way.
          AgentError: It could not be fetched.
        """
        if version is None:
            yield
            return
        await self._loader.ensure(version)
        try:
            yield
        finally:
            self._loader.release(version)

    async def _fetched(self, batch: Batch, version: Version, within: Within) -> Answer:
        began_s = asyncio.get_running_loop().time()
        async with self.held(version):
            passed_s = asyncio.get_running_loop().time() - began_s
            return await self.queue.answer(batch, Within(within.nearest_s - passed_s, within.last_s - passed_s))

    def _asked(self, batch: Batch, version: Version, within: Within) -> asyncio.Future[Answer]:
        try:
            outcome = self.queue.answer(batch, within)
        except BaseException:
            self._engine.release(version)
            raise
        outcome.add_done_callback(lambda _: self._engine.release(version))
        return outcome
