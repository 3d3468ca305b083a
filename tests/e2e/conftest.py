import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from .commands import Place


@pytest.fixture
def place() -> Iterator[Place]:
    """Files and ports of one test; a short path, since Ray puts sockets below it."""
    with tempfile.TemporaryDirectory(prefix="sparring-e2e-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        place = Place(Path(folder))
        yield place
        place.clear()
