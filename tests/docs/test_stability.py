"""The public names exist and have a docstring, and the page's modules are those that are public."""

import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "stability.md").read_text(encoding="utf-8")
MODULES = [name for name in re.findall(r"`((?:app|train)\.[\w.]+)`", TEXT) if not name.endswith("Experiment")]


@pytest.mark.parametrize("module", [*MODULES, "train.experiment"])
def test_a_public_module_and_what_it_defines_are_documented(module: str) -> None:
    found = import_module(module)
    assert inspect.getdoc(found)
    own = {
        name: value
        for name, value in vars(found).items()
        if not name.startswith("_") and getattr(value, "__module__", "") == module
    }
    named = [value for value in own.values() if inspect.isclass(value) or inspect.isfunction(value)]
    assert named
    assert [value.__name__ for value in named if not inspect.getdoc(value)] == []


def test_the_headers_of_the_cpp_client_exist() -> None:
    headers = re.findall(r"`(sparring/\w+\.h)`", TEXT)
    include = ROOT / "app" / "client" / "cpp" / "include"
    assert sorted(headers) == sorted(str(file.relative_to(include)) for file in include.rglob("*.h"))
