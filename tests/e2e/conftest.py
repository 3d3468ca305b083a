from collections.abc import Iterator

import pytest

from .commands import Place, new_place


@pytest.fixture
def place() -> Iterator[Place]:
    with new_place() as place:
        yield place
