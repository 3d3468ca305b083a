import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

import pytest
from ray.exceptions import RayActorError

from app.metrics.registry import Registry
from app.metrics.series import Part
from app.stores.metrics_values import Episode
from app.types import Purpose
from deployments import reporter as module
from deployments.reporter import Reporter

if TYPE_CHECKING:
    from app.stores.metrics_client import Metrics


class SlowStore:
    """Adds up what it is told at once, and says so when it is allowed to."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.episodes: list[Episode] = []
        self.parts: list[Part] = []
        self.told = asyncio.Event()
        self.may_answer = asyncio.Event()
        self.is_away = False

    async def report(
        self, episodes: Sequence[Episode], counts: Mapping[str, int], parts: Sequence[Part], actor: str
    ) -> None:
        if self.is_away:
            raise RayActorError
        self.episodes += episodes
        self.counts.update(counts)
        self.parts += parts
        self.told.set()
        await self.may_answer.wait()


def reporter(store: SlowStore) -> tuple[Reporter, Counter[str], Registry]:
    counts: Counter[str] = Counter()
    registry = Registry()
    return Reporter(cast("Metrics", store), counts, registry), counts, registry


def finished(number: int) -> Episode:
    return Episode(Purpose.TRAIN, float(number), number)


async def test_what_is_under_way_as_the_reporter_is_stopped_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "EVERY_S", 0.0)
    store = SlowStore()
    one, counts, registry = reporter(store)
    counts["games_handed_on"] = 49
    one.episode(finished(1))
    registry.record("health", 2.0)
    running = asyncio.create_task(one.run())
    await asyncio.wait_for(store.told.wait(), 10)
    running.cancel()
    await asyncio.wait([running], timeout=10)
    counts["games_handed_on"] += 51
    one.episode(finished(2))
    leaving = asyncio.create_task(one.leave())
    store.may_answer.set()
    await asyncio.wait_for(leaving, 10)
    assert store.counts == {"games_handed_on": 100}
    assert store.episodes == [finished(1), finished(2)]
    assert [part.summary.count for part in store.parts] == [1]


async def test_what_a_store_that_is_away_did_not_take_is_told_when_it_is_back() -> None:
    store = SlowStore()
    store.may_answer.set()
    store.is_away = True
    one, counts, registry = reporter(store)
    counts["starts"] = 3
    one.episode(finished(1))
    registry.record("health", 2.0)
    await one.flush()
    store.is_away = False
    one.episode(finished(2))
    registry.record("health", 3.0)
    await one.flush()
    await one.flush()
    assert store.counts == {"starts": 3}
    assert store.episodes == [finished(1), finished(2)]
    assert [(part.summary.count, part.summary.sum) for part in store.parts] == [(2, 5.0)]
