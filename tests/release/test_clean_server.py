"""The wheel with all that servers need, from an index into an empty environment: a new project trains to its goal."""

import json
from pathlib import Path

import pytest

from deployments.port import free_port

from .environment import clean

TRAINING_S = 600.0


@pytest.mark.proof
@pytest.mark.alone
@pytest.mark.timeout(2400)
def test_a_project_of_the_installed_wheel_trains_to_its_goal(
    archives: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory
) -> None:
    home = tmp_path_factory.mktemp("home")
    made = clean(tmp_path_factory.mktemp("server") / "venv", archives[0], "server,games")
    where = made.run("python", "-c", "import app, train; print(app.__file__, train.__file__)", home=home)
    assert where.stdout.count(str(made.packages)) == 2, where
    written = made.run("sparring", "new", "orchard", "--template", "rl", home=home)
    assert written.returncode == 0, written.stderr
    base = home / "orchard" / "configs" / "base.yaml"
    base.write_text(base.read_text().replace("port: 36390", f"port: {free_port()}"))
    words = ("sparring", "launch", "--config", "configs/rl.yaml", "--serve-port", str(free_port()))
    done = made.run(*words, home=home / "orchard", timeout_s=TRAINING_S)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    result = json.loads(done.stdout.splitlines()[-1])
    assert result["solved"] is True
