"""What a trainer starts from: what is there, what the config says, what was asked for."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch

from app.aside import ASIDE, ASIDE_KEPT
from app.config.load import load
from app.config.root import ExperimentConfig
from app.errors import CheckpointError
from app.models.pool import ModelPool, Source
from app.models.saved import SavedModel
from train.beginning import Beginning, Plan, move_aside, plan
from train.checkpoint import FILE, Checkpoints, LearnerState
from train.resume import Progress
from train.strategies.strategy import TrainedState

RL = Path(__file__).parents[2] / "configs" / "rl.yaml"


def config(*overrides: str) -> ExperimentConfig:
    return load(RL, ["run.trial=mine", *overrides])


def on_existing(what: str, *overrides: str) -> ExperimentConfig:
    return config(f"trainers.main.checkpoints.on_existing={what}", *overrides)


def checkpoint(folder: Path, updates: int, generation: int = 1) -> Path:
    state = LearnerState(
        Progress(TrainedState({"w": torch.ones(2)})),
        updates,
        generation,
        "0123",
        "run",
    )
    return Checkpoints(folder).save(state)


def clone(home: Path, trial: str = "mine", *, frozen: bool = True) -> str:
    source = Source(SavedModel("a:b", {}, "0123", "1.0", {"w": np.ones(2)}), "somewhere")
    return ModelPool(home / trial / "clones").clone(source, "main", frozen=frozen).id


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """Returns the folder of the trainer's checkpoints."""
    return tmp_path / "mine" / "checkpoints" / "main"


@pytest.mark.parametrize("what", ["resume", "reuse", "overwrite", "refuse"])
def test_where_nothing_exists_each_begins_anew(what: str, tmp_path: Path, own: Path) -> None:
    assert plan(on_existing(what), "main", tmp_path, None) == Plan(own, None)


def test_by_default_what_exists_is_moved_aside(tmp_path: Path, own: Path) -> None:
    checkpoint(own, 5)
    assert plan(config(), "main", tmp_path, None) == Plan(own, None, move_aside=True)
    assert own.is_dir()  # Until the start.


def test_resume_goes_on_from_the_newest_and_reuse_takes_its_weights(tmp_path: Path, own: Path) -> None:
    checkpoint(own, 5)
    newest = str(checkpoint(own, 6))
    assert plan(on_existing("resume"), "main", tmp_path, None) == Plan(own, Beginning(newest, whole=True))
    assert plan(on_existing("reuse"), "main", tmp_path, None) == Plan(own, Beginning(newest, whole=False))


def test_refuse_names_the_folder_and_what_is_allowed(tmp_path: Path, own: Path) -> None:
    checkpoint(own, 5)
    said = (
        f"{own} holds the checkpoints 000001-0000000005 and trainers.main.checkpoints.on_existing is refuse; allowed:"
    )
    with pytest.raises(CheckpointError, match=re.escape(said)):
        plan(on_existing("refuse"), "main", tmp_path, None)


@pytest.mark.parametrize("what", ["refuse", "overwrite"])
def test_what_is_asked_for_comes_before_what_the_config_says(what: str, tmp_path: Path, own: Path) -> None:
    older, newest = checkpoint(own, 5), checkpoint(own, 6)
    asked = on_existing(what, f"models.main.checkpoint=clones/{clone(tmp_path)}")
    assert plan(asked, "main", tmp_path, "latest") == Plan(own, Beginning(str(newest), whole=True))
    assert plan(asked, "main", tmp_path, "5") == Plan(own, Beginning(str(older), whole=True))


def test_a_checkpoint_of_another_trial_goes_on_and_a_clone_gives_weights_alone(tmp_path: Path, own: Path) -> None:
    other = checkpoint(tmp_path / "other" / "checkpoints" / "main", 8)
    for name in (str(other), "other/checkpoints/8", "other/checkpoints/main/8", "other/checkpoints/latest"):
        assert plan(config(), "main", tmp_path, name) == Plan(own, Beginning(str(other), whole=True))
    kept = clone(tmp_path, "other")
    there = tmp_path / "other" / "clones" / kept
    assert plan(config(), "main", tmp_path, f"other/clones/{kept}") == Plan(own, Beginning(str(there), whole=False))


def test_the_latest_that_can_be_read_is_taken_and_one_asked_for_by_number_refused(
    tmp_path: Path, own: Path, caplog: pytest.LogCaptureFixture
) -> None:
    good, damaged = checkpoint(own, 5), checkpoint(own, 6)
    (damaged / FILE).write_bytes(b"half")
    for asked, restore in ((config(), "latest"), (on_existing("resume"), None)):
        assert plan(asked, "main", tmp_path, restore) == Plan(own, Beginning(str(good), whole=True))
    assert f"cannot read checkpoint {damaged}" in caplog.text
    with pytest.raises(CheckpointError, match=f"cannot read checkpoint {damaged}"):
        plan(config(), "main", tmp_path, "6")
    (good / FILE).unlink()
    with pytest.raises(
        CheckpointError, match=f"no checkpoint in {own} can be read: 000001-0000000005, 000001-0000000006"
    ):
        plan(config(), "main", tmp_path, "latest")


def test_what_is_not_there_says_what_is(tmp_path: Path, own: Path) -> None:
    with pytest.raises(CheckpointError, match=f"no checkpoint to resume from in {own}; train without"):
        plan(config(), "main", tmp_path, "latest")
    checkpoint(own, 5)
    with pytest.raises(CheckpointError, match=r"no checkpoint 6 in .*; there are 000001-0000000005"):
        plan(config(), "main", tmp_path, "6")
    with pytest.raises(CheckpointError, match="no model 'nowhere'"):
        plan(config(), "main", tmp_path, "nowhere")


def test_the_config_may_name_a_clone_as_first_weights(tmp_path: Path, own: Path) -> None:
    kept = clone(tmp_path)
    first = plan(config(f"models.main.checkpoint=clones/{kept}"), "main", tmp_path, None)
    assert first == Plan(own, Beginning(str(tmp_path / "mine" / "clones" / kept), whole=False))


def test_the_trainer_of_a_trainable_clone_saves_with_it(tmp_path: Path, own: Path) -> None:
    kept = clone(tmp_path, frozen=False)
    folder = tmp_path / "mine" / "clones" / kept
    named = f"models.main.checkpoint=clones/{kept}"
    checkpoint(own, 100)  # Of another trainer.
    begun = Beginning(str(folder), whole=False)
    assert plan(config(named), "main", tmp_path, None) == Plan(folder / "checkpoints", begun)
    newest = checkpoint(folder / "checkpoints", 7)
    going_on = Plan(folder / "checkpoints", Beginning(str(newest), whole=True))
    assert plan(on_existing("resume", named), "main", tmp_path, None) == going_on
    assert plan(config(named), "main", tmp_path, None) == Plan(folder / "checkpoints", begun, move_aside=True)


def test_first_weights_that_would_be_moved_aside_are_refused(tmp_path: Path, own: Path) -> None:
    checkpoint(own, 5)
    with pytest.raises(
        CheckpointError, match=r"main.checkpoint checkpoints/latest lies in .* which on_existing: overwri"
    ):
        plan(config("models.main.checkpoint=checkpoints/latest"), "main", tmp_path, None)


def test_each_trainer_has_a_folder_of_its_own(tmp_path: Path, own: Path) -> None:
    newest = checkpoint(own, 5)
    checkpoint(own.with_name("rival"), 9)
    assert plan(config(), "main", tmp_path, "latest") == Plan(own, Beginning(str(newest), whole=True))
    rival = plan(config(), "main", tmp_path, "checkpoints/rival/latest").beginning
    assert rival == Beginning(str(own.with_name("rival") / "000001-0000000009"), whole=True)


@pytest.mark.parametrize("what", ["resume", "reuse", "refuse"])
def test_checkpoints_where_all_trainers_once_saved_are_told_with_where_they_belong(
    what: str, tmp_path: Path, own: Path, caplog: pytest.LogCaptureFixture
) -> None:
    checkpoint(own.parent, 5)
    said = re.escape(
        f"{own.parent} holds the checkpoints 000001-0000000005 of an earlier version, in no trainer's folder; "
        f"move them to {own}"
    )
    for asked, restore in ((on_existing(what), None), (config(), "latest"), (config(), "5")):
        with pytest.raises(CheckpointError, match=said):
            plan(asked, "main", tmp_path, restore)
    assert plan(config(), "main", tmp_path, None) == Plan(own, None)
    assert re.search(said, caplog.text)


def test_moved_aside_nothing_is_lost_but_the_oldest_beyond_those_kept(own: Path) -> None:
    for start in range(ASIDE_KEPT + 2):
        checkpoint(own, start)
        move_aside(own, now_s=1_000_000_000.0 + start)
        assert not own.exists()
    asides = sorted(own.parent.iterdir())
    assert [path.name for path in asides] == [f"main{ASIDE}20010909-0146{second}" for second in (42, 43, 44)]
    assert [next(path.iterdir()).name[-1] for path in asides] == ["2", "3", "4"]


def test_two_starts_within_a_second_do_not_meet(own: Path) -> None:
    for updates in (1, 2):
        checkpoint(own, updates)
        move_aside(own, now_s=1_000_000_000.0)
    assert sorted(path.name[-4:] for path in own.parent.iterdir()) == ["40-2", "4640"]


def test_a_folder_that_cannot_be_moved_is_named(own: Path) -> None:
    with pytest.raises(CheckpointError, match=f"cannot move the checkpoints in {own} aside"):
        move_aside(own, 0.0)
