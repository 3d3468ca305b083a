"""``sparring models``: what its commands print, change and refuse."""

import json
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from app.command_line import GROUP, build
from app.errors import CheckpointError, ConfigError, SparringError
from app.models.pool import ModelPool, Source
from app.models.saved import META, WEIGHTS, SavedModel
from app.stores.mlflow_store import ModelRegistry, tracking_uri
from train.checkpoint import Checkpoints, LearnerState
from train.model_commands import clone_, list_, register, show
from train.resume import Progress
from train.strategies.strategy import TrainedState

RL = Path(__file__).parents[2] / "configs" / "rl.yaml"
MINE = ["run.trial=mine"]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Returns the folder of the project."""
    monkeypatch.setenv("SPARRING_HOME", str(tmp_path))
    return tmp_path / "cartpole"


def checkpoint(home: Path, updates: int, trial: str = "mine") -> Path:
    state = LearnerState(
        Progress(TrainedState({"w": torch.full((2,), float(updates))})),
        updates,
        1,
        "0123",
        "run",
        factory="a:b",
        metrics={"mean_return": 9.5},
    )
    return Checkpoints(home / trial / "checkpoints" / "main").save(state)


def printed(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def cloned(what: str, capsys: pytest.CaptureFixture[str], *, frozen: bool = True, model: str | None = None) -> Any:
    clone_(what, RL, MINE, frozen=frozen, model=model, json_=True)
    return printed(capsys)


def test_a_checkpoint_becomes_a_clone_and_a_clone_another(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    checkpoint(home, 5)
    checkpoint(home, 7)
    first = cloned("checkpoints/latest", capsys)
    assert (first["origin"], first["parent"], first["step"], first["frozen"], first["model"]) == (
        "checkpoints/main/000001-0000000007",
        None,
        7,
        True,
        "main",
    )
    second = cloned(first["id"][:6], capsys, frozen=False)
    assert (second["parent"], second["hash"], second["frozen"]) == (first["id"], first["hash"], False)
    assert cloned("checkpoints/5", capsys)["step"] == 5


def test_list_shows_checkpoints_and_clones(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    list_(RL, MINE, json_=True)
    assert printed(capsys) == {"folder": str(home / "mine"), "checkpoints": [], "clones": []}
    checkpoint(home, 5)
    made = cloned("checkpoints/latest", capsys)
    list_(RL, MINE, json_=True)
    found = printed(capsys)
    (saved,) = found["checkpoints"]
    assert (saved["name"], saved["updates"], saved["metrics"]) == ("000001-0000000005", 5, {"mean_return": 9.5})
    assert found["clones"] == [made]
    list_(RL, MINE)
    shown = capsys.readouterr().out
    assert "000001" in shown
    assert "checkpoints" in shown


def test_a_damaged_checkpoint_is_listed_as_such(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (checkpoint(home, 5) / META).write_text("{")
    checkpoint(home, 6)
    list_(RL, MINE, json_=True)
    damaged, good = printed(capsys)["checkpoints"]
    assert (damaged["name"], good["damage"], good["updates"]) == ("000001-0000000005", None, 6)
    assert "000001-0000000005 holds no model" in damaged["damage"]


def test_the_command_line_reaches_them(home: Path) -> None:
    checkpoint(home, 5)
    entry = EntryPoint("models", "train.model_commands:models", GROUP)
    cli = build({"models": entry}, ["models"])
    words = ["models", "list", "--config", str(RL), "--set", MINE[0], "--json"]
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == 0, done.output
    assert [found["updates"] for found in json.loads(done.output)["checkpoints"]] == [5]
    named = tomllib.loads((RL.parents[1] / "pyproject.toml").read_text())["project"]["entry-points"][GROUP]
    assert named["models"] == entry.value


def test_show_names_ancestors_children_and_folder(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    checkpoint(home, 5)
    first = cloned("checkpoints/latest", capsys)
    second = cloned(first["id"], capsys, frozen=False)
    third = cloned(second["id"], capsys)
    show(second["id"], RL, MINE, json_=True)
    assert printed(capsys) == {
        **second,
        "folder": str(home / "mine" / "clones" / second["id"]),
        "ancestors": [first["id"]],
        "children": [third["id"]],
        "checkpoints": [],
    }
    show(second["id"], RL, MINE)
    assert third["id"] in capsys.readouterr().out


def test_clone_says_in_words_what_it_made(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    checkpoint(home, 5)
    clone_("checkpoints/5", RL, MINE, frozen=False)
    assert capsys.readouterr().out.endswith(" of checkpoints/main/000001-0000000005, trainable\n")


def test_a_model_that_the_config_does_not_have_is_refused(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    checkpoint(home, 5)
    with pytest.raises(ConfigError, match="--model is other; allowed is one of the config's models: main"):
        cloned("checkpoints/5", capsys, model="other")
    two = [*MINE, "models.second.factory=a:b"]
    with pytest.raises(ConfigError, match="--model is not given; allowed is one of the config's models: main, second"):
        clone_("checkpoints/5", RL, two)
    clone_("checkpoints/5", RL, two, model="second", json_=True)
    assert printed(capsys)["model"] == "second"


@pytest.mark.parametrize("what", ["0123", "checkpoints/7", "other/clones/0123", "/nowhere/at/all"])
def test_what_is_not_there_is_an_error_that_says_so(what: str, home: Path) -> None:
    with pytest.raises(SparringError, match="there is no "):
        clone_(what, RL, MINE)


def test_a_trainable_or_damaged_clone_is_not_registered(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    checkpoint(home, 5)
    trainable = cloned("checkpoints/5", capsys, frozen=False)
    with pytest.raises(CheckpointError, match=f"is trainable, .*: sparring models clone {trainable['id']} --frozen"):
        register(trainable["id"], RL, MINE)
    frozen = cloned(trainable["id"], capsys)
    weights = home / "mine" / "clones" / frozen["id"] / WEIGHTS
    weights.write_bytes(weights.read_bytes()[:-1])
    with pytest.raises(CheckpointError, match=f"{frozen['id']} holds no model"):
        register(frozen["id"], RL, MINE)
    assert not (home / "mlflow.db").exists()


@pytest.mark.mlflow
def test_a_frozen_clone_is_registered_with_its_lineage(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = Source(SavedModel("a:b", {}, "0123", "2.8", {"w": np.ones(2)}), "somewhere", None, 40)
    pool = ModelPool(home / "mine" / "clones")
    parent = pool.clone(source, "main", frozen=True)
    child = pool.clone(pool.read(parent.id), "main", frozen=True)
    register(child.id, RL, MINE, rating=1520.5, json_=True)
    assert printed(capsys) == {"name": "cartpole.main", "version": 1, "alias": "challenger", "id": child.id}
    (version,) = ModelRegistry(tracking_uri(None, home), home).versions("cartpole.main")
    assert version.aliases == ["challenger"]
    assert version.tags == {
        "trial": "mine",
        "version": "2.8",
        "spec_hash": "0123",
        "hash": child.hash,
        "step": "40",
        "parent": parent.id,
        "rating": "1520.5",
        "clone": child.id,
    }
    list_(RL, MINE, registered=True, json_=True)
    assert [found["number"] for found in printed(capsys)["registered"]] == [1]
    again = cloned("models:/cartpole.main@challenger", capsys)
    assert (again["origin"], again["parent"], again["hash"]) == ("models:/cartpole.main/1", child.id, child.hash)
