"""First weights of a served model."""

from pathlib import Path

import numpy as np
import pytest

from app.config.load import load
from app.config.root import ExperimentConfig
from app.errors import CheckpointError, ModelMismatchError
from app.models.module import build_module, hash_of, to_arrays
from app.models.pool import ModelPool, Source
from app.models.saved import SavedModel
from deployments.build import load_checkpoint

DEPLOY = Path(__file__).parents[2] / "configs" / "deploy.yaml"
FACTORY = "app.games.cartpole.model:build"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SPARRING_HOME", str(tmp_path))
    return tmp_path / "cartpole"


def config(checkpoint: str) -> ExperimentConfig:
    return load(DEPLOY, [f"models.main.checkpoint={checkpoint}"])


def clone(home: Path, trial: str, **kwargs: int) -> str:
    module = build_module(FACTORY, kwargs, 3)
    saved = SavedModel(FACTORY, kwargs, hash_of(module), "1.7", to_arrays(module))
    return ModelPool(home / trial / "clones").clone(Source(saved, "somewhere"), "main", frozen=True).id


@pytest.mark.parametrize(("trial", "name"), [("deploy", "clones/{}"), ("rl", "rl/clones/{}")])
def test_a_clone_may_be_served(trial: str, name: str, home: Path) -> None:
    served = config(name.format(clone(home, trial)))
    arrays = load_checkpoint(served, "main", build_module(FACTORY, {}, 0))
    expected = to_arrays(build_module(FACTORY, {}, 3))
    assert all(np.array_equal(arrays[name], expected[name]) for name in expected)


def test_the_clone_of_another_network_is_refused_by_name(home: Path) -> None:
    other = clone(home, "rl", hidden=8)
    with pytest.raises(ModelMismatchError, match=rf"models.main.checkpoint rl/clones/{other} was saved by .* builds"):
        load_checkpoint(config(f"rl/clones/{other}"), "main", build_module(FACTORY, {}, 0))


def test_a_clone_that_is_not_there_names_those_that_are(home: Path) -> None:
    there = clone(home, "deploy")
    with pytest.raises(CheckpointError, match=f"no clone '0123'; there are {there}"):
        load_checkpoint(config("clones/0123"), "main", build_module(FACTORY, {}, 0))
