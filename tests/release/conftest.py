from pathlib import Path

import pytest

from .built import build, copied


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project's files, with what work leaves behind."""
    return copied(tmp_path_factory.mktemp("source"))


@pytest.fixture(scope="session")
def archives(source: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The wheel and the source archive; the wheel is built from the source archive."""
    wheel, sdist = build(source, tmp_path_factory.mktemp("dist"))
    assert (wheel.suffix, sdist.suffix) == (".whl", ".gz")
    return wheel, sdist
