"""Metrics of the trial over HTTP."""

import asyncio
from typing import Any

import orjson
import pytest

from app.errors import BadRequestError, NotFoundError, OverloadedError
from app.metrics.prometheus import exposition
from app.metrics.query import MetricQuery
from app.stores.metrics import MetricStore
from app.stores.metrics_client import series_of
from app.stores.metrics_values import Episode, Update
from app.types import Purpose
from app.wire.http import HttpRequest
from deployments import metric_pages as module
from deployments.metric_pages import MetricPages
from tests.metrics.test_prometheus import parsed


class Asked:
    """A real store, that may be away."""

    def __init__(self) -> None:
        self.store = MetricStore()
        self.is_away = False

    async def query(self, query: MetricQuery) -> list[dict[str, Any]]:
        if self.is_away:
            await asyncio.Future()
        return series_of(await self.store.query(query))

    async def names(self) -> list[dict[str, Any]]:
        return await self.store.metric_names()

    async def of_trial(self) -> list[dict[str, Any]]:
        if self.is_away:
            await asyncio.Future()
        return await self.store.of_trial()


def get(**fields: str) -> HttpRequest:
    return HttpRequest(b"GET", "/metrics/query", fields, b"", keep_alive=True)


async def filled() -> Asked:
    asked = Asked()
    await asked.store.report([Episode(Purpose.TRAIN, 3.0, 7, "player")], {"starts": 1})
    await asked.store.update(Update(1, 0.0, {"kl": 0.5}, "main"))
    return asked


async def test_a_request_is_answered_by_label() -> None:
    reply = await MetricPages(await filled()).query(get(name="learner/kl", **{"label.trainer": "main"}))
    found = orjson.loads(reply.body)["series"]
    assert [(one["labels"], one["values"]) for one in found] == [({"trainer": "main"}, {"mean": 0.5})]
    listed = orjson.loads(
        (await MetricPages(await filled()).names(HttpRequest(b"GET", "/metrics/names", {}, b"", True))).body
    )["metrics"]
    assert "sparring_episode_return" in {one["name"] for one in listed}


async def test_what_is_not_known_is_404_and_what_is_no_query_400() -> None:
    pages = MetricPages(await filled())
    with pytest.raises(NotFoundError, match="known are learner/kl, sparring_episode_return"):
        await pages.query(get(name="nothing"))
    with pytest.raises(BadRequestError, match="reduce is 'mode'"):
        await pages.query(get(name="learner/kl", reduce="mode"))


async def test_prometheus_reads_what_no_replica_shows() -> None:
    found = parsed(exposition(await MetricPages(await filled()).samples()))
    assert found["sparring_learner"] == {(("name", "kl"), ("trainer", "main")): 0.5}
    assert found["sparring_updates_total"] == {(("trainer", "main"),): 1}
    assert found["sparring_episode_return_sum"] == {(("agent", "player"), ("purpose", "train")): 3}
    assert "sparring_starts_total" not in found, "each replica shows its own"


async def test_a_store_that_is_away_keeps_nobody_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE_S", 0.01)
    monkeypatch.setattr(module, "SCRAPE_S", 0.01)
    asked = await filled()
    asked.is_away = True
    with pytest.raises(OverloadedError, match="the metric store does not answer"):
        await MetricPages(asked).query(get(name="learner/kl"))
    assert await MetricPages(asked).samples() == []
