"""Teachers are found by the driver, once, and loaded by each worker."""

from pathlib import Path

import numpy as np
import pytest

from app.config.active import active
from app.config.load import load
from app.config.root import ExperimentConfig
from app.errors import CheckpointError, ConfigError
from app.model_check import trained_spec
from app.models.module import build_module, hash_of, to_arrays
from app.models.saved import SavedModel, write_model
from train.learning import make_learners
from train.strategies.build import wrap
from train.strategies.strategy import Place
from train.teachers import find_teachers, load_teachers

RL = Path(__file__).parents[2] / "configs" / "rl.yaml"
CARTPOLE = ("app.games.cartpole.model:build", {"hidden": 8})


def saved(folder: Path, factory: str, kwargs: dict[str, object]) -> str:
    folder.mkdir()
    module = build_module(factory, kwargs, seed=3)
    write_model(folder, SavedModel(factory, kwargs, hash_of(module), "1.2", to_arrays(module)))
    return str(folder)


def config(teacher: str, *changes: str) -> ExperimentConfig:
    key = "trainers.main.inputs.0.algorithm.teacher"
    return active(load(RL, [f"{key}={{checkpoint: {teacher}, first: 2.0, updates: 10}}", *changes]))


def test_a_saved_policy_of_another_size_teaches(tmp_path: Path) -> None:
    whole = config(saved(tmp_path / "there", *CARTPOLE))
    spec = trained_spec(whole, "main")
    folders = find_teachers(whole, "main", tmp_path, spec)
    assert folders == {0: str(tmp_path / "there")}
    teachers = load_teachers(folders)
    wanted = to_arrays(build_module(*CARTPOLE, seed=3))
    for name, array in to_arrays(teachers[0]).items():
        np.testing.assert_array_equal(array, wanted[name])
    trainer, model = whole.trainers["main"], whole.models["main"]
    trained = wrap(trainer, build_module(model.factory, model.kwargs, 0), Place())
    assert int(make_learners(trainer, trained, spec, teachers).state_dict()["0.updates"]) == 0
    with pytest.raises(ValueError, match="got a weight alone"):
        make_learners(trainer, trained, spec)


def test_a_policy_of_another_game_cannot_teach(tmp_path: Path) -> None:
    other = {"observation": {"shape": [3]}, "action": {"choices": 2}}
    whole = config(saved(tmp_path / "there", "app.models.networks.policy:build", other))
    with pytest.raises(CheckpointError, match=r"inputs\.0\.algorithm\.teacher .*: the teacher's observation is"):
        find_teachers(whole, "main", tmp_path, trained_spec(whole, "main"))


def test_a_teacher_that_is_not_there_is_named(tmp_path: Path) -> None:
    whole = config("clones/nobody")
    with pytest.raises(CheckpointError, match="nobody"):
        find_teachers(whole, "main", tmp_path, trained_spec(whole, "main"))


def test_a_teacher_that_would_change_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"teacher\.checkpoint: .*checkpoints/latest', which moves"):
        config("checkpoints/latest")


def test_a_first_policy_needs_the_network_whole() -> None:
    changes = ["trainers.main.inputs.0.algorithm.first_policy_coef=0.1", "trainers.main.strategy={kind: fsdp}"]
    with pytest.raises(ConfigError, match="first_policy_coef keeps a copy of the whole network"):
        load(RL, changes)


def test_a_run_without_teachers_has_none(tmp_path: Path) -> None:
    whole = active(load(RL, []))
    assert find_teachers(whole, "main", tmp_path, trained_spec(whole, "main")) == {}
    assert load_teachers({}) == {}
