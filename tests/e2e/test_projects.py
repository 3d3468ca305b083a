"""Projects of ``sparring new``, outside the repository: they test, train, and are served and played."""

import json
import subprocess
from pathlib import Path

import pytest
import yaml

from .commands import BIN, ROOT, Place, listens, wait_until

pytestmark = pytest.mark.timeout(600)

NAME = "orchard"


def written(place: Place, template: str) -> Path:
    """Returns a project in its folder, whose game port is the place's."""
    done(place, place.folder, "sparring", "new", NAME, "--template", template)
    folder = place.folder / NAME
    base = folder / "configs" / "base.yaml"
    base.write_text(base.read_text().replace("port: 36390", f"port: {place.game_port}"))
    serve = yaml.safe_load((folder / "serve_config.yaml").read_text())
    serve["http_options"]["port"] = place.serve_port
    (folder / "serve_config.yaml").write_text(yaml.safe_dump(serve))
    return folder


def env(place: Place) -> dict[str, str]:
    return place.env | {"PYTHONPATH": str(ROOT)}  # As an installed product's is.


def done(place: Place, folder: Path, *words: str, code: int = 0) -> str:
    ended = subprocess.run(
        words, cwd=folder, env=env(place), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=400,
        check=False,
    )  # fmt: skip
    assert ended.returncode == code, f"{words} ended with {ended.returncode}:\n{ended.stdout}\n{ended.stderr}"
    return ended.stdout


@pytest.mark.e2e
def test_a_project_tests_trains_to_its_goal_and_its_champion_is_served(place: Place) -> None:
    folder = written(place, "rl")
    assert " passed" in done(place, folder, "make", "test")
    words = ("sparring", "launch", "--config", "configs/rl.yaml", "--serve-port", str(place.serve_port))
    result = json.loads(done(place, folder, *words).splitlines()[-1])
    assert result["solved"] is True
    assert result["served_eval_mean"] >= 9


@pytest.mark.e2e
def test_weights_from_elsewhere_are_served_and_played(place: Place) -> None:
    folder = written(place, "deploy")
    assert " passed" in done(place, folder, "make", "test")
    done(place, folder, "make", "weights")
    with (place.folder / "serve.log").open("wb") as log:
        serve = subprocess.Popen(
            [str(BIN / "serve"), "run", "serve_config.yaml"], cwd=folder, env=env(place), stdout=log,
            stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
    try:

        def answers() -> bool:
            assert serve.poll() is None, (place.folder / "serve.log").read_text()
            return listens(place.game_port)

        wait_until(answers, (place.folder / "serve.log").read_text, 200)
        assert "mean return 10.0" in done(place, folder, "python", "-m", f"{NAME}.core", place.url, "2")
        done(place, folder, "make", "build/cpp/game_core")
        assert "mean return 10" in done(place, folder, "build/cpp/game_core", str(place.game_port), "2")
    finally:
        serve.terminate()
        serve.wait(60)


@pytest.mark.e2e
@pytest.mark.parametrize("template", ["imitation", "imitation_rl", "league"])
def test_the_other_projects_pass_their_own_tests(place: Place, template: str) -> None:
    folder = written(place, template)
    assert "OK" in done(place, folder, "sparring", "check", f"configs/{template}.yaml", "--cpus", "2")
    assert " passed" in done(place, folder, "make", "test")


@pytest.mark.proof
def test_a_league_begins_to_learn(place: Place) -> None:
    folder = written(place, "league")
    few = [f"--set=trainers.{name}.max_updates=2" for name in ("main", "exploiter")]
    words = ("sparring", "launch", "--config", "configs/league.yaml", "--serve-port", str(place.serve_port))
    result = json.loads(done(place, folder, *words, *few, code=1).splitlines()[-1])
    assert result["solved"] is False
    assert result["updates"] >= 2
