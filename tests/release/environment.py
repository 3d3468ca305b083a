"""Virtual environments with the built wheel in them, and nothing of the folder that it was built from."""

import os
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

from .built import ROOT

INSTALL_S = 1500.0
RUN_S = 120.0
SCRIPTS = ("serve", "ray", "mlflow", "pytest")
"""Commands of others that a project's user types."""
NOT_OURS = ("pip", "setuptools", "pkg_resources", "_distutils_hack", "distutils-precedence.pth")
"""What the virtual environment brings along."""


@dataclass(frozen=True)
class Environment:
    """A virtual environment.

    Attributes:
      folder: Where it lies.
    """

    folder: Path

    @property
    def bin(self) -> Path:
        return self.folder / "bin"

    @property
    def packages(self) -> Path:
        return self.folder / "lib" / f"python3.{sys.version_info.minor}" / "site-packages"

    def variables(self, home: Path) -> dict[str, str]:
        """Returns the environment variables of a user in whose shell it is active."""
        kept = {name: os.environ[name] for name in ("LANG", "TMPDIR", "CI") if name in os.environ}
        return kept | {"HOME": str(home), "PATH": f"{self.bin}:{os.environ['PATH']}", "NO_COLOR": "1", "COLUMNS": "200"}

    def run(self, *words: str, home: Path, timeout_s: float = RUN_S) -> "subprocess.CompletedProcess[str]":
        """Returns what a command did that was started outside the repository."""
        return subprocess.run(
            [str(self.bin / words[0]), *words[1:]], cwd=home, env=self.variables(home), stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=timeout_s, check=False,
        )  # fmt: skip

    def installed_mb(self) -> float:
        """Returns the size of all that was installed, in MB of a million bytes, compiled files included."""
        places = [path for path in self.packages.iterdir() if not path.name.startswith(NOT_OURS)]
        files = [file for place in places for file in (place, *place.rglob("*")) if file.is_file()]
        return sum(file.stat().st_size for file in files) / 1e6


def clean(folder: Path, wheel: Path, extras: str = "") -> Environment:
    """Returns an environment that pip has filled with the wheel and what it asks for, in the tested versions."""
    made = Environment(folder)
    _call(sys.executable, "-m", "venv", str(folder))
    pip = (str(made.bin / "python"), "-m", "pip", "--disable-pip-version-check", "install", "--quiet")
    _call(*pip, "-c", str(ROOT / "constraints.txt"), f"{wheel}[{extras}]" if extras else str(wheel))
    return made


def sharing(folder: Path, wheel: Path) -> Environment:
    """Returns an environment with the wheel, and with the packages of others that these tests run with.

    It shows that the wheel holds what it needs of ours; that it asks for what it needs of others, only ``clean`` shows.
    """
    made = Environment(folder)
    _call(sys.executable, "-m", "venv", str(folder))
    _call(str(made.bin / "python"), "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", str(wheel))
    torch = find_spec("torch")
    others = Path((torch and torch.origin) or "").parents[1]
    (made.packages / "others.pth").write_text(f"{others}\n", encoding="utf-8")  # Its own .pth files are not read.
    for entry in entry_points(group="console_scripts"):
        if entry.name in SCRIPTS:
            script = made.bin / entry.name
            call = f"import sys\nfrom {entry.module} import {entry.attr}\nsys.exit({entry.attr}())\n"
            script.write_text(f"#!{made.bin / 'python'}\n{call}", encoding="utf-8")
            script.chmod(0o755)
    return made


def _call(*words: str) -> None:
    done = subprocess.run(words, capture_output=True, text=True, timeout=INSTALL_S, check=False)
    assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
