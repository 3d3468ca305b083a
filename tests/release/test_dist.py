"""What is released: the files of the packages, all of them and nothing else, under one version."""

import re
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import version as installed
from pathlib import Path

import pytest

from .built import ROOT, build, of_wheel
from .check import problems

pytestmark = pytest.mark.slow

VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]


def test_the_archives_hold_what_is_ours_and_say_what_they_are(archives: tuple[Path, Path]) -> None:
    assert problems(*archives) == []


def test_what_is_missing_or_foreign_is_named(archives: tuple[Path, Path], tmp_path: Path) -> None:
    wheel, sdist = archives
    other = tmp_path / wheel.name
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(other, "w") as new:
        for name in old.namelist():
            if name != "app/wire/messages.proto":
                new.writestr(name, old.read(name))
        new.writestr("tests/left.py", "")
    assert problems(other, sdist) == [
        "the wheel lacks app/wire/messages.proto",
        "tests/left.py does not belong into the wheel",
    ]


def test_the_source_archive_builds_the_wheel_that_the_tree_builds(
    archives: tuple[Path, Path], source: Path, tmp_path: Path
) -> None:
    (direct,) = build(source, tmp_path, "--wheel")
    assert of_wheel(direct) == of_wheel(archives[0])


def test_one_version_is_told_everywhere() -> None:
    said = subprocess.run(
        [sys.executable, "-m", "app", "--version"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert said.stdout == f"sparring {VERSION}\n"
    assert installed("sparring") == VERSION
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert VERSION in re.findall(r"^## \[(\d+\.\d+\.\d+)\]", changes, re.MULTILINE)
    images = [*(ROOT / "configs/cluster/kubernetes").rglob("*.yaml"), ROOT / "Dockerfile", ROOT / "docs/kubernetes.md"]
    told = {found for path in images for found in re.findall(r"sparring:(\d+\.\d+\.\d+)", path.read_text())}
    assert told == {VERSION}
