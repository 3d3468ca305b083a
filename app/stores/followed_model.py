"""One model that follows the registry: what is named, loaded, checked, and told to the replicas."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

import ray

from app.config.release import Release
from app.errors import CheckpointError, ModelMismatchError, ReleaseError, TrackingError, VersionRefusedError
from app.models.checked import checked_engine, fitting_arrays
from app.models.engine import Engine
from app.models.engines import Network
from app.models.saved import SavedModel
from app.models.shadow import Sample
from app.releases.plan import Named, Plan, Standing, Wishes, played_as
from app.stores.release_registry import Registry
from app.stores.release_state import ModelState
from app.stores.shadow_lane import ShadowLane
from app.types import UNTRAINED, Arrays, Version

POLL_S: Final = 20.0
"""Longest wait of a long poll; then the replica asks again."""
LOAD_S: Final = 300.0
"""Longest download of one version; it is tried again with the next look."""
CHECK_S: Final = 60.0
"""Longest time that a version may take to be built and to answer for the first time."""
KEPT: Final = 4
"""Newest versions kept beside those that are named."""

_T = TypeVar("_T")
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ReleaseSource:
    """A model that follows the registry."""

    network: Network
    release: Release
    uri: str
    """Address of the experiment store."""
    root: Path
    """State root."""
    registered: str
    """Name of the registered model."""


class FollowedModel:
    """One model of the store."""

    def __init__(self, source: ReleaseSource, registry: Registry) -> None:
        self.state = ModelState(source.release)
        self.source = source
        self._registry = registry
        self._refs: "dict[int, ray.ObjectRef[Arrays]]" = {}
        self._told = Standing()
        """What replicas are told; nothing before a champion is there."""
        self._changed = asyncio.Condition()
        self._looking = asyncio.Lock()
        self._wake = asyncio.Event()
        self._lane: ShadowLane | None = None

    def close(self) -> None:
        """Ends its thread."""
        if self._lane is not None:
            self._lane.close()

    async def run(self, name: str) -> None:
        """Looks at the registry again and again; one that does not answer changes nothing."""
        while True:
            try:
                await self.look(name)
            except (TrackingError, TimeoutError) as error:
                if self.state.problem is None:
                    _log.warning("release of model %s: the registry does not answer: %s", name, error)
                self.state.problem = str(error) or "the registry does not answer in time"
            self._wake.clear()
            try:
                async with asyncio.timeout(self.source.release.poll_s):
                    await self._wake.wait()
            except TimeoutError:
                continue

    async def look(self, name: str) -> None:
        """Looks at the registry once: loads and checks what is new, and makes the plan anew."""
        async with self._looking:
            self.state.wishes = await _in_time(LOAD_S, self._wishes)
            self.state.problem = None
            for named in self.state.missing():
                try:
                    await self._bring(name, named.number)
                except (TrackingError, TimeoutError) as error:  # It is tried again; the others need not wait for it.
                    self.state.problem = f"version {named.number} cannot be loaded: {error or 'no answer in time'}"
            for number, reason in list(self.state.unmarked.items()):
                await _in_time(LOAD_S, partial(self._registry.mark, number, reason))
                del self.state.unmarked[number]
            await self._decide(name)
            self._forget()

    async def standing_after(self, known: Standing) -> Standing | None:
        """Returns how the model stands as soon as that is not known; None after a while."""
        async with self._changed:
            try:
                async with asyncio.timeout(POLL_S):
                    await self._changed.wait_for(lambda: self._told not in (known, Standing()))
            except TimeoutError:
                return None
            return self._told

    async def fetch(self, version: Version) -> "list[ray.ObjectRef[Arrays]]":
        """Returns the weights of a version; one that is kept no more comes from the registry again."""
        if version.generation != 0 or version == UNTRAINED or version.number in self.state.refused:
            return []
        if version.number not in self._refs:
            try:
                saved = await _in_time(LOAD_S, partial(self._load, version.number))
                arrays = await _in_time(CHECK_S, partial(fitting_arrays, saved, self.source.network))
            except (TrackingError, CheckpointError, VersionRefusedError, TimeoutError):
                return []
            return [ray.put(arrays)]
        return [self._refs[version.number]]

    async def judge(self, name: str) -> None:
        """Rolls back what breaks its thresholds, once."""
        found = self.state.judge()
        if found is not None:
            number, reason = found
            _log.warning("release of model %s: version %d is rolled back: %s", name, number, reason)
            await self._decide(name)
            self._wake.set()

    async def refuse(self, name: str, number: int, reason: str) -> None:
        """Takes note that a version cannot be played, and plans without it."""
        if self.state.refuse(number, reason):
            _log.warning("release of model %s: version %d is refused: %s", name, number, reason)
            await self._decide(name)

    async def compare(self, version: Version, samples: Sequence[Sample]) -> None:
        """Asks the shadow about what sessions were told."""
        if version != self.state.plan.shadow:  # It was one when the replica sent them.
            return
        if self._lane is None or self._lane.version != version:
            if self._lane is not None:
                self._lane.close()
            self._lane = ShadowLane(version, partial(self._engine, version, await self._refs[version.number]))
        self.state.add_shadow(version, await self._lane.compare(samples))

    async def promote(self, name: str, number: int | None) -> None:
        """Makes the challenger, or the version of a number, the champion.

        Raises:
          ReleaseError: There is no challenger, or it may not be promoted.
          TrackingError: The registry does not answer.
        """
        wished = self.state.wishes.challenger
        if number is None:
            if wished is None:
                raise ReleaseError(
                    f"model {name!r} has no challenger: {self.source.release.challenger or 'null'} names no version "
                    f"of {self.source.registered}; name one, by its number"
                )
            if (reason := self.state.barred().reason(wished)) is not None:
                raise ReleaseError(f"version {wished.number} may not be promoted: {reason}; name it, by its number")
            number = wished.number
        if number not in self.state.usable:
            await self._bring(name, number)
        if number in self.state.refused:
            raise ReleaseError(f"version {number} cannot be played: {self.state.refused[number]}")
        alias = self.source.release.challenger
        named = wished is not None and wished.number == number and alias is not None and not alias.isdecimal()
        release = self.source.release
        await _in_time(LOAD_S, partial(self._registry.promote, release.follow, number, alias if named else None))
        await self.look(name)

    async def go_back(self, name: str) -> None:
        """Makes the version before the champion.

        Raises:
          ReleaseError: None is known.
          TrackingError: The registry does not answer.
        """
        bad, good = await _in_time(LOAD_S, partial(self._registry.go_back, self.source.release.follow, "by hand"))
        _log.warning("release of model %s: rolled back from version %d to %d by hand", name, bad, good)
        await self.look(name)

    async def _bring(self, name: str, number: int) -> None:
        """Loads and checks a version; a broken one is refused for good."""
        try:
            saved = await _in_time(LOAD_S, partial(self._load, number))
            arrays = await _checked(partial(self._check, number, saved))
        except (CheckpointError, VersionRefusedError, ModelMismatchError) as error:
            await self.refuse(name, number, str(error))
            return
        self._refs[number] = ray.put(arrays)
        self.state.usable.add(number)

    def _load(self, number: int) -> SavedModel:
        import app.models.module  # noqa: F401, PLC0415  # Torch, for the check: its import is not the version's time.

        return self._registry.load(number)

    def _check(self, number: int, saved: SavedModel) -> Arrays:
        source = self.source
        try:
            arrays = fitting_arrays(saved, source.network)
        except VersionRefusedError:
            raise
        except Exception as error:  # The user's factory may raise anything.
            told = f"the factory {source.network.factory} fails: {type(error).__name__}: {error}"
            raise VersionRefusedError(told) from error
        self._engine(played_as(number), arrays)
        return arrays

    def _engine(self, version: Version, arrays: Arrays) -> Engine:
        return checked_engine(self.source.network, version, arrays)

    def _wishes(self) -> Wishes:
        release = self.source.release
        names = (release.follow, release.challenger, release.shadow)
        found: list[Named | None] = [None if name is None else self._registry.find(name) for name in names]
        return Wishes(*found)

    async def _decide(self, name: str) -> None:
        async with self._changed:
            self.state.decide()
            standing = self.state.standing()
            if standing != self._told and standing.plan != Plan():
                self._told = standing
                _log.info("release of model %s: %s", name, standing.as_dict())
                self._changed.notify_all()

    def _forget(self) -> None:
        """Lets go the oldest versions that are named no more."""
        named = {one.number for one in self.state.wishes.all()} | {v.number for v in self.state.plan.versions()}
        for number in sorted(self._refs.keys() - named)[:-KEPT]:
            del self._refs[number]
            self.state.usable.discard(number)
        self.state.keep_only({played_as(number) for number in self.state.usable})


async def _in_time(seconds: float, call: Callable[[], _T]) -> _T:
    """Returns what a blocking call returns from a thread.

    Raises:
      TimeoutError: It took too long; its thread ends when the call does.
    """
    async with asyncio.timeout(seconds):
        return await asyncio.to_thread(call)


async def _checked(check: Callable[[], Arrays]) -> Arrays:
    try:
        return await _in_time(CHECK_S, check)
    except TimeoutError as error:
        raise VersionRefusedError(f"it was not built, or did not answer, within {CHECK_S:g} s") from error
