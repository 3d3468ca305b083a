"""One cluster of two nodes for all tests."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from .environment import environment
from .network import missing

if TYPE_CHECKING:
    from .nodes import Nodes


@pytest.fixture(scope="session")
def networks() -> None:
    """Lets a test run where machines can be made; else it is left out, or fails where nothing may be."""
    lacks = missing()
    if lacks is not None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(f"tests of several nodes need {lacks}")


@pytest.fixture(scope="session")
def nodes(networks: None) -> Iterator["Nodes"]:
    with tempfile.TemporaryDirectory(prefix="sparring-nodes-", dir="/tmp") as name:  # Sockets need short paths.
        folder = Path(name)
        with environment(folder):
            from .nodes import two_nodes  # noqa: PLC0415  # Ray is imported behind the environment above.

            with two_nodes(folder) as made:
                yield made
