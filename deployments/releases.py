"""A replica's part in releases: it takes up what the release store has decided, and reports what came of it."""

import asyncio
import logging
from collections import Counter
from collections.abc import Coroutine
from typing import Any, Final

from ray.exceptions import RayError

from app.config.root import ExperimentConfig
from app.errors import ModelMismatchError, VersionRefusedError
from app.home import state_root
from app.models.batching import BatchLimits
from app.models.checked import checked_engine
from app.models.engine import Engine
from app.models.engines import Network
from app.models.released import ReleasedModel
from app.models.shadow import Tap
from app.releases.plan import Standing
from app.releases.statistics import Cohort, Statistics
from app.stores.followed_model import ReleaseSource
from app.stores.mlflow_store import tracking_uri
from app.stores.release_registry import parts_of
from app.stores.release_state import Growth
from app.stores.releases_client import Releases
from app.types import Arrays, Version
from deployments.models import network_of

RETRY_S: Final = 1.0
"""Pause before the release store is asked again after a failure."""
REPORT_S: Final = 0.5
"""Seconds between two reports of what sessions did."""
SHADOW_S: Final = 0.1
"""Seconds between two looks for samples."""
SHADOW_ROWS: Final = 64
"""Samples of one call: few, so that to pack them takes a moment only."""
SHADOW_CALL_S: Final = 10.0
"""Longest wait for a call to the shadow, which waits less long for its answers."""

_log = logging.getLogger(__name__)


def release_sources(config: ExperimentConfig) -> dict[str, ReleaseSource]:
    """Returns the models that follow the registry: those with a release that no trainer trains.

    Raises:
      TrackingError: A checkpoint is no model URI.
    """
    trained = {trainer.model for trainer in config.trainers.values()}
    root = state_root(config.run.project)
    uri = tracking_uri(config.tracking.mlflow_uri, root)
    return {
        name: ReleaseSource(
            network_of(model, config.run.seed, str(root)),
            model.release,
            uri,
            root,
            parts_of(str(model.checkpoint))[0],
        )
        for name, model in config.models.items()
        if model.release is not None and name not in trained
    }


class ReplicaReleases:
    """One released model in one replica."""

    def __init__(
        self,
        name: str,
        network: Network,
        limits: BatchLimits,
        first: tuple[Version, Arrays],
        releases: Releases,
        counts: Counter[str],
    ) -> None:
        """Makes the model, which plays its first version until the store tells of another.

        Args:
          name: The model's.
          network: What runs its versions.
          limits: Bounds of its batches.
          first: Version to begin with, which is known to answer, and its weights.
          releases: The release store's side.
          counts: The replica's counters.
        """
        self._name = name
        self._network = network
        self._releases = releases
        self._counts = counts
        self._growth: dict[Cohort, Statistics] = {}
        self._dropped: Counter[Version] = Counter()
        self._tap = Tap()
        self.standing = Standing()
        """What the store told last."""
        engine = network.make_engine()
        version, arrays = first
        engine.swap(version, engine.build(arrays))
        self.model = ReleasedModel(engine, self._load, limits)

    def work(self) -> list[Coroutine[Any, Any, None]]:
        """Returns what must run for as long as the replica lives."""
        return [self._follow(), self._report(), self._ask_shadow()]

    def count(self, cohort: Cohort, what: Statistics) -> None:
        """Takes what a session did."""
        self._growth[cohort] = self._growth.get(cohort, Statistics()) + what

    def status(self) -> dict[str, Any]:
        """Returns what an operator is shown of the replica."""
        return {
            **self.standing.as_dict(),
            **self.model.plan.as_dict(),
            "loaded": [str(version) for version in self.model.versions],
        }

    async def flush(self) -> None:
        """Sends what sessions did since the last report; what cannot be sent is sent the next time.

        Raises:
          ray.exceptions.RayError: The store is gone.
        """
        if self.model.plan.shadow is not None and (dropped := self._tap.take_dropped()):
            self._dropped[self.model.plan.shadow] += dropped
            self._counts["shadow_dropped"] += dropped
        if not self._growth and not self._dropped:
            return
        growth, self._growth = self._growth, {}
        dropped_, self._dropped = self._dropped, Counter()
        try:
            await self._releases.report(Growth(growth, dict(dropped_)))
        except BaseException:
            for cohort, statistics in growth.items():
                self.count(cohort, statistics)
            self._dropped += dropped_
            raise

    async def _follow(self) -> None:
        while True:
            try:
                standing = await self._releases.standing_after(self.standing)
                if standing is not None:
                    await self._take_up(standing)
            except RayError as error:  # Its process restarts; what plays goes on to play.
                _log.warning("the release store does not answer, asking again: %s", error)
                await asyncio.sleep(RETRY_S)
            except ModelMismatchError as error:
                _log.warning("model %s plays on with %s: %s", self._name, self.model.plan.champion, error)
                await asyncio.sleep(RETRY_S)

    async def _take_up(self, standing: Standing) -> None:
        try:
            await self.model.follow(standing.plan)
        except VersionRefusedError as error:  # The store has been told, and will name another plan.
            _log.warning("model %s plays on with %s: %s", self._name, self.model.plan.champion, error)
        else:
            self.model.watch = None if standing.plan.shadow is None else self._tap
        self.standing = standing

    async def _load(self, version: Version) -> Engine:
        """Returns a checked engine, built in a thread."""
        arrays = await self._releases.fetch(version)
        try:
            return await asyncio.to_thread(checked_engine, self._network, version, arrays)
        except VersionRefusedError as error:
            self._counts["versions_refused"] += 1
            await self._releases.refuse(version, str(error))
            raise

    async def _report(self) -> None:
        while True:
            await asyncio.sleep(REPORT_S)
            self.model.forget_unused()
            try:
                await self.flush()
            except RayError as error:
                _log.warning("the release store does not answer: %s", error)

    async def _ask_shadow(self) -> None:
        while True:
            version, samples = self.model.plan.shadow, self._tap.take(SHADOW_ROWS)
            if version is None or not samples:
                await asyncio.sleep(SHADOW_S)
                continue
            try:
                # In a thread, since packing the samples takes a while.
                answered = await asyncio.to_thread(self._releases.shadow, version, samples)
                async with asyncio.timeout(SHADOW_CALL_S):
                    await answered
            except (RayError, TimeoutError) as error:
                self._dropped[version] += len(samples)
                self._counts["shadow_dropped"] += len(samples)
                _log.info("the shadow %s of model %s does not answer: %s", version, self._name, error)
                await asyncio.sleep(RETRY_S)
