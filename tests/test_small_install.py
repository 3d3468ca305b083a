"""The smallest install is the client; the extra ``cli`` adds config and commands. Each needs what it names alone."""

import re
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, distribution, packages_distributions
from pathlib import Path

import pytest

from .hiding import HIDE

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PACKAGES = ("app.client", "app.wire", "app.config", "app.projects", "app.porting")
CLIENT = ("app.client.sync", "app.client.aio", "app.client.errors", "app.cli")
"""What the smallest install is for."""
SERVER_ONLY = "app.wire.websocket"
"""Needs ``websockets`` of the extra ``server``, and nothing imports it before a WebSocket is asked for."""

IMPORT_ALL = (
    "import sys\nbefore = set(sys.modules)  # An environment may load some of its own at the start.\n"
    + HIDE
    + """
import importlib, pkgutil

for name in sys.argv[2].split(","):
    package = importlib.import_module(name)
    for module in pkgutil.walk_packages(getattr(package, "__path__", []), name + "."):
        if not module.name.endswith("__main__") and module.name != sys.argv[3] and ".templates." not in module.name:
            importlib.import_module(module.name)
            print(module.name)
assert not hidden & {name.partition(".")[0] for name in set(sys.modules) - before}
"""
)


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def needed(names: list[str]) -> set[str]:
    """Returns the distributions, and those that they need without an extra; those not installed are left out."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = normal(re.match(r"[\w.-]+", waiting.pop())[0])  # type: ignore[index]
        if name in found:
            continue
        try:
            requires = distribution(name).requires or []
        except PackageNotFoundError:
            continue
        found.add(name)
        waiting += [item for item in requires if "extra ==" not in item]
    return found


def imported(hidden: set[str], packages: tuple[str, ...]) -> list[str]:
    command = [sys.executable, "-c", IMPORT_ALL, ",".join(sorted(hidden)), ",".join(packages), SERVER_ONLY]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_of_the_small_install_imports_without_torch_and_ray(package: str) -> None:
    assert imported({"torch", "ray", "mlflow"}, (package,))


def others(base: set[str]) -> set[str]:
    """Returns the modules of all that is installed beside these distributions and our own."""
    return {
        module
        for module, owners in packages_distributions().items()
        if {normal(owner) for owner in owners}.isdisjoint(base | {"sparring"})
    }


def test_the_base_dependencies_suffice_for_the_client() -> None:
    base = needed(PROJECT["dependencies"])
    assert len(base) < 5
    hidden = others(base)
    assert {"google", "numpy", "pydantic", "typer", "uvloop", "httpx"} <= hidden
    assert imported(hidden, CLIENT) == []


def test_the_extra_cli_suffices_for_config_and_commands() -> None:
    base = needed([*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["cli"]])
    assert len(base) < 30
    hidden = others(base)
    assert {"torch", "ray", "zstandard", "gymnasium", "psutil"} <= hidden
    assert len(imported(hidden, PACKAGES)) > 30
