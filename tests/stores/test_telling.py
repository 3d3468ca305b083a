import asyncio
import time
from typing import TYPE_CHECKING, cast

import pytest
from ray.exceptions import RayActorError

from app.metrics import names
from app.metrics.registry import Registry
from app.metrics.series import Part
from app.stores import telling as module
from app.stores.metrics import MetricStore
from app.stores.telling import Measured, tell_for_ever

if TYPE_CHECKING:
    from app.stores.metrics_client import Metrics


class Store:
    """Takes what it is told, from the second time on."""

    def __init__(self) -> None:
        self.calls = 0
        self.told: asyncio.Queue[list[Part]] = asyncio.Queue()

    async def measure(self, parts: list[Part]) -> None:
        self.calls += 1
        if self.calls == 1:
            raise RayActorError
        self.told.put_nowait(parts)


class Shard:
    """A store that holds three rows."""

    def take_stock(self, registry: Registry, process: str) -> None:
        registry.series(names.BUFFER_ROWS, buffer=process).add(3)


def test_the_metric_store_beside_which_others_live_is_none_that_takes_stock() -> None:
    assert not isinstance(MetricStore(), Measured)  # It has a method for what others send, which takes other things.


async def test_growth_and_gauges_are_told_again_where_the_store_did_not_take_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store, registry = Store(), Registry()
    monkeypatch.setattr(module, "EVERY_S", 0.0)
    monkeypatch.setattr(module, "metrics_of", lambda _: cast("Metrics", store))
    registry.series(names.STARTS).add(1)
    telling = asyncio.create_task(tell_for_ever("sparring.a.b", "rollouts", [Shard(), object()], registry))
    try:
        told = await asyncio.wait_for(store.told.get(), 10)
    finally:
        telling.cancel()
        await asyncio.wait([telling], timeout=10)
    found = {part.metric.name: part.summary for part in told}
    assert found[names.STARTS.name].sum == 1
    assert found[names.BUFFER_ROWS.name].last == 3
    assert 0 <= time.time() - found[names.STORE_STARTED.name].last < 60
    assert [part.labels for part in told if part.metric is names.STORE_STARTED] == [(("store", "rollouts"),)]
