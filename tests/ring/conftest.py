"""One Ray instance, with Serve on a port of its own, for all tests of the ring."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from .instance import ray_instance
from .service import Cluster


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    with ray_instance(Path(__file__).parent) as running:  # For broken_models, in all processes.
        yield running
