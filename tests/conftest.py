"""Settings of all tests, and where those lie that the Makefile looks for in some folders alone."""

import gc
import os
from pathlib import Path
from typing import Final

import pytest
from hypothesis import settings

settings.register_profile("sparring", deadline=None)  # A shared machine stalls now and then.
settings.load_profile("sparring")

MAKES_OWN: Final = ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "ARGS", "TESTS")
"""Variables by which ``make test`` would change what a ``make`` does and prints that a test types."""
for name in MAKES_OWN:
    os.environ.pop(name, None)

FOLDERS: Final = {
    "browser": ("deployments/console", "docs", "render", "ring"),
    "cluster": ("cluster",),
    "e2e": ("e2e", "docs", "capacity"),
    "fast_proof": ("proofs",),
    "ray": ("ring",),
    "soak": ("soak",),
}
"""Folders of the tests with a mark; in another one ``make test`` would leave them out, though not ``make long``."""
HERE: Final = Path(__file__).parent

gc.disable()  # Until all is imported, of which nothing is garbage: to walk it again and again takes long.


def pytest_runtestloop() -> None:
    """Leaves what was imported and collected out of the garbage collector's walks."""
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuses tests that ``make test`` would never find."""
    for item in items:
        if item.get_closest_marker("long"):
            continue
        for mark, folders in FOLDERS.items():
            if item.get_closest_marker(mark) and not any(item.path.is_relative_to(HERE / folder) for folder in folders):
                raise pytest.UsageError(f"{item.nodeid} is marked {mark}; allowed for those: {', '.join(folders)}")
