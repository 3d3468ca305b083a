"""A service in a thread that keeps to the wire contract, and a client of it."""

from collections.abc import Iterator

import pytest

from app.client.sync import Client, RetryLimits
from tests.client.background import service_in_thread
from tests.client.fake_service import FakeService

QUICK = RetryLimits(limit_s=20, request_s=5, first_wait_s=0.001, longest_wait_s=0.01)


@pytest.fixture
def service() -> Iterator[FakeService]:
    with service_in_thread() as running:
        yield running


@pytest.fixture
def client(service: FakeService) -> Iterator[Client]:
    with Client(service.url, limits=QUICK, purpose="train") as made:
        yield made
