import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from .build import build
from .fake_service import FakeService

PAGE = Path(__file__).parents[3] / "docs" / "clients" / "cpp.md"


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the client's programs."""
    folder = tmp_path_factory.mktemp("cpp")
    documented = folder / "documented.cpp"
    programs = re.findall(r"```cpp\n(// A whole game core.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    documented.write_text(programs[0], encoding="utf-8")
    build(folder / "build", documented)
    return folder / "build"


@pytest.fixture(scope="session")
def program(built: Path) -> Path:
    """The program that does what its lines say."""
    return built / "client_shell"


@pytest.fixture
async def service() -> AsyncIterator[FakeService]:
    service = FakeService()
    await service.listen()
    yield service
    await service.close()
