"""The metrics of the whole trial over HTTP, to read: which there are, and what they say."""

import asyncio
import logging
from typing import Any, Final, Protocol

import orjson
from ray.exceptions import RayError

from app.metrics.documents import samples_of
from app.metrics.prometheus import Sample
from app.metrics.query import MetricQuery, query_of
from app.wire.http import JSON, HttpReply, HttpRequest
from deployments.asking import PATIENCE_S, in_time

QUERY: Final = "/metrics/query"
NAMES: Final = "/metrics/names"
WHO: Final = "the metric store"
SCRAPE_S: Final = 2.0
"""Longest wait for it while metrics are scraped."""

_log = logging.getLogger(__name__)


class Asked(Protocol):
    """The metric store, to look at."""

    async def query(self, query: MetricQuery) -> list[dict[str, Any]]:
        """Returns the series that answer.

        Raises:
          NotFoundError: There is no such metric.
        """

    async def names(self) -> list[dict[str, Any]]:
        """Returns the metrics that there are."""

    async def of_trial(self) -> list[dict[str, Any]]:
        """Returns the series that no replica has: those of trainers, buffers, league and episodes."""


class MetricPages:
    """Answers who asks about metrics."""

    def __init__(self, metrics: Asked) -> None:
        """Makes the pages of a trial."""
        self._metrics = metrics

    async def query(self, request: HttpRequest) -> HttpReply:
        """Returns the series that answer the fields of a request.

        Raises:
          BadRequestError: The query is none.
          NotFoundError: There is no such metric.
          OverloadedError: The metric store does not answer.
        """
        return _json({"series": await in_time(self._metrics.query(query_of(request.fields)), WHO, PATIENCE_S)})

    async def names(self, request: HttpRequest) -> HttpReply:
        """Returns the metrics that there are.

        Raises:
          OverloadedError: The metric store does not answer.
        """
        return _json({"metrics": await in_time(self._metrics.names(), WHO, PATIENCE_S)})

    async def samples(self) -> list[Sample]:
        """Returns the series that no replica has as metrics for Prometheus; none while the store does not answer."""
        try:
            async with asyncio.timeout(SCRAPE_S):
                documents = await self._metrics.of_trial()
        except (RayError, TimeoutError) as error:
            _log.warning("the metrics of the trial are missing, their store does not answer: %s", type(error).__name__)
            return []
        return [sample for document in documents for sample in samples_of(document, {})]


def _json(document: object) -> HttpReply:
    return HttpReply(200, orjson.dumps(document), JSON)
