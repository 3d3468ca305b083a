"""Models of the real stable-baselines3 answer here what they answer there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from train.porting.commands import import_sb3

from .compared import EXACT, difference, served

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "porting-sb3.md").read_text(encoding="utf-8")
PINNED = "stable-baselines3==2.9.2"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Saves models with the real package, which stands beside the torch of these tests: ``pip install --no-deps``."""
    packages, out = tmp_path_factory.mktemp("packages"), tmp_path_factory.mktemp("models")
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(packages), PINNED]
    subprocess.run(pip, check=True, timeout=120)
    env = os.environ | {"PYTHONPATH": str(packages)}
    program = [sys.executable, str(Path(__file__).parent / "real.py"), str(out)]
    subprocess.run(program, env=env, check=True, timeout=250, capture_output=True)
    (export,) = re.findall(r"<!-- test: export -->\n```python\n(.*?)```", PAGE, re.DOTALL)
    subprocess.run([sys.executable, "-c", export], env=env, cwd=out, check=True, timeout=60)
    return out


def imported(file: Path, folder: Path, *options: str) -> Path:
    cli = typer.Typer()
    cli.command()(import_sb3)
    result = CliRunner().invoke(cli, [str(file), "--to", str(folder), *options], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return folder


def test_each_kind_of_model_answers_as_there(models: Path, tmp_path: Path) -> None:
    names = sorted(path.stem for path in models.glob("*.zip") if path.stem != "normalised")
    assert len(names) == 15
    worst = {}
    for name in names:
        told = dict(np.load(models / f"{name}.npz"))
        found = difference(served(imported(models / f"{name}.zip", tmp_path / name)), told)
        if name == "ppo_numbers":  # ``predict`` clips there, the game does here.
            del found["actions"]
        worst |= {f"{name} {what}": off for what, off in found.items()}
    assert {what: off for what, off in worst.items() if not off < EXACT} == {}
    assert len(worst) > 25


def test_statistics_that_the_pages_program_exports_are_part_of_the_weights(models: Path, tmp_path: Path) -> None:
    told = dict(np.load(models / "normalised.npz"))
    plain = difference(served(imported(models / "normalised.zip", tmp_path / "plain")), told)
    assert plain["logits"] > 0.01
    options = ("--normalise", str(models / "statistics.npz"))
    normalised = difference(served(imported(models / "normalised.zip", tmp_path / "normalised", *options)), told)
    assert max(normalised.values()) < EXACT
