"""Builds wheel and source archive out of the files that belong to the project."""

import subprocess
import sys
import tarfile
import zipfile
from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("app", "deployments", "train")
BUILD_S = 300.0


def tracked(*paths: str) -> set[str]:
    """Returns the files that belong to the project below these paths: those of git, where there is one."""
    if (ROOT / ".git").exists():
        words = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *paths]
        listed = subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
        return {name for name in listed if (ROOT / name).is_file()}
    found = (file for path in paths for file in [ROOT / path, *(ROOT / path).rglob("*")] if file.is_file())
    return {str(file.relative_to(ROOT)) for file in found if "__pycache__" not in file.parts}


def copied(folder: Path) -> Path:
    """Writes a copy of what a release is built from, with a cache as work leaves it, and returns its folder."""
    for name in tracked(*PACKAGES, "configs", "tests", *(p.name for p in ROOT.iterdir() if p.is_file())):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes((ROOT / name).read_bytes())
    for place in ("app", "app/projects/templates/common/mygame"):
        cache = folder / place / "__pycache__"
        cache.mkdir()
        (cache / "left.cpython-311.pyc").write_bytes(b"left behind")
    return folder


def build(source: Path, out: Path, *kinds: str) -> list[Path]:
    """Returns what was built of a source tree, sorted: ``--wheel``, ``--sdist``, or both from one another."""
    words = [sys.executable, "-m", "build", "--no-isolation", "--skip-dependency-check", *kinds, "--outdir", str(out)]
    done = subprocess.run([*words, str(source)], capture_output=True, text=True, timeout=BUILD_S, check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return sorted(out.iterdir())


def of_wheel(wheel: Path) -> dict[str, str]:
    """Returns the sha256 of each file in a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: sha256(archive.read(name)).hexdigest() for name in archive.namelist()}


def of_sdist(archive: Path) -> set[str]:
    """Returns the files of a source archive, relative to its folder."""
    with tarfile.open(archive) as tar:
        return {member.name.partition("/")[2] for member in tar.getmembers() if member.isfile()}
