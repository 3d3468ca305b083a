import json
import logging
import math
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from app.config.checkpoints import KeepCheckpoints
from app.errors import CheckpointError
from app.models.saved import META, WEIGHTS, read_model
from app.replay.ancestry import Ancestry, Origin
from app.types import Version
from tests.train.runs import Run, digest, trainer
from train.checkpoint import FILE, UNFINISHED, Checkpoints, LearnerState, load_state
from train.random_state import random_state
from train.resume import Progress
from train.strategies.strategy import TrainedState


def state(updates: int = 3, generation: int = 1, number: float = 0.0) -> LearnerState:
    return LearnerState(
        progress=Progress(TrainedState({"w": torch.full((3,), number)}), {}, (random_state(),)),
        updates=updates,
        generation=generation,
        spec_hash="0123",
        run="run 1",
    )


def kept(folder: Path) -> list[tuple[int, int]]:
    """Returns generation and update of the checkpoints that can be read, oldest first."""
    states = [load_state(path) for path in sorted(folder.iterdir())]
    return [(found.generation, found.updates) for found in states]


def test_a_state_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = Checkpoints(tmp_path / "made when needed").save(state(number=7))
    got, expected = load_state(path), state(number=7)
    assert torch.equal(got.progress.trained.model["w"], expected.progress.trained.model["w"])
    assert torch.equal(got.progress.random[0]["torch"], expected.progress.random[0]["torch"])
    assert (got.updates, got.generation, got.spec_hash, got.run) == (3, 1, "0123", "run 1")


def test_the_newest_checkpoint_is_found_among_those_kept(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, KeepCheckpoints(last=2))
    assert checkpoints.newest() is None
    for updates in (9, 10, 11):
        newest = checkpoints.save(state(updates))
        assert checkpoints.newest() == newest
    assert kept(tmp_path) == [(1, 10), (1, 11)]


def test_a_later_start_is_newer_than_the_updates_of_an_earlier_one(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, KeepCheckpoints(last=2))
    for generation, updates in ((1, 500), (2, 4), (2, 8)):
        checkpoints.save(state(updates, generation))
    assert kept(tmp_path) == [(2, 4), (2, 8)]


def test_a_second_checkpoint_of_one_update_replaces_the_first(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, KeepCheckpoints(last=1))
    checkpoints.save(state(number=1))
    path = checkpoints.save(state(number=2))
    assert load_state(path).progress.trained.model["w"][0] == 2
    assert [found.name for found in tmp_path.iterdir()] == [path.name]


def fill_disk(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def full(_state: object, path: Path) -> None:
        path.write_bytes(b"half of it")
        raise error

    monkeypatch.setattr(torch, "save", full)


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), RuntimeError("file write failed")])
@pytest.mark.parametrize("updates", [3, 4])
def test_a_full_disk_leaves_the_one_before_and_names_it(
    error: Exception, updates: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoints = Checkpoints(tmp_path, KeepCheckpoints(last=1))
    good = checkpoints.save(state(3, number=1))
    fill_disk(monkeypatch, error)
    with pytest.raises(CheckpointError, match=re.escape(f"{error}; the newest good one is {good}. Make room on")):
        checkpoints.save(state(updates, number=2))
    assert list(tmp_path.iterdir()) == [good]
    assert checkpoints.newest() == good
    assert load_state(good).progress.trained.model["w"][0] == 1


def test_without_any_good_checkpoint_none_is_named(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("where the folder should be")
    with pytest.raises(CheckpointError, match="the newest good one is none"):
        Checkpoints(blocked).save(state())


def test_what_a_killed_writer_left_is_no_checkpoint_and_goes_with_the_next_save(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, KeepCheckpoints(last=2))
    good = checkpoints.save(state(3))
    left = tmp_path / f"{UNFINISHED}000001-0000000005"
    left.mkdir()
    (left / FILE).write_bytes(b"half")
    (tmp_path / "000001-0000000009").mkdir()  # Without its file.
    assert checkpoints.newest() == good
    newest = checkpoints.save(state(4))
    assert checkpoints.newest() == newest
    assert not left.exists()
    assert good.exists()  # The broken folder is none of the two that are kept.


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-50])


@pytest.mark.parametrize(
    "spoil",
    [
        truncate,
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b"no checkpoint"),
        lambda path: torch.save([1], path),
        lambda path: torch.save({}, path),
        lambda path: torch.save({"schema_version": 1}, path),
        lambda path: torch.save({"schema_version": 1, "surprise": 2}, path),
        lambda path: torch.save(Path, path),  # Code: never loaded.
        lambda path: path.unlink(),
    ],
)
def test_a_damaged_checkpoint_is_named(spoil: Callable[[Path], object], tmp_path: Path) -> None:
    path = Checkpoints(tmp_path, KeepCheckpoints(last=1)).save(state())
    spoil(path / FILE)
    with pytest.raises(CheckpointError, match=f"cannot read checkpoint {path}"):
        load_state(path)


def test_another_schema_is_refused(tmp_path: Path) -> None:
    path = Checkpoints(tmp_path, KeepCheckpoints(last=1)).save(replace(state(), schema_version=2))
    with pytest.raises(CheckpointError, match=rf"has schema version 2; allowed is 3.*checkpoint: {path}"):
        load_state(path)


@pytest.mark.parametrize("name", [WEIGHTS, FILE])
def test_one_wrong_bit_anywhere_is_found(name: str, tmp_path: Path) -> None:
    path = Checkpoints(tmp_path).save(state())
    data = bytearray((path / name).read_bytes())
    data[len(data) // 2 if name == FILE else -1] ^= 1
    (path / name).write_bytes(data)
    with pytest.raises(CheckpointError, match=str(path)):
        load_state(path)


def test_the_newest_that_can_be_read_is_restored_and_the_damaged_one_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    checkpoints = Checkpoints(tmp_path)
    checkpoints.save(state(3))
    damaged = checkpoints.save(state(4))
    truncate(damaged / WEIGHTS)
    with caplog.at_level(logging.WARNING):
        found = checkpoints.newest_state()
    assert found is not None
    assert found.updates == 3
    assert f"passed over: {damaged} holds no model" in caplog.text


def test_a_checkpoint_is_a_model_that_can_be_served(tmp_path: Path) -> None:
    path = Checkpoints(tmp_path).save(replace(state(number=7), number=12, factory="a:b", kwargs={"inputs": 2}))
    got = read_model(path)
    assert (got.factory, got.kwargs, got.spec_hash, got.version) == ("a:b", {"inputs": 2}, "0123", "1.12")
    assert got.arrays["w"].tolist() == [7, 7, 7]
    assert sorted(found.name for found in path.iterdir()) == [FILE, META, WEIGHTS]


def test_what_it_was_measured_by_comes_back_without_what_is_not_finite(tmp_path: Path) -> None:
    measured = {"loss": 0.5, "ratio": math.inf, "mean_return": math.nan}
    assert load_state(Checkpoints(tmp_path).save(replace(state(), metrics=measured))).metrics == {"loss": 0.5}


def test_each_nth_counts_those_that_are_gone(tmp_path: Path) -> None:
    for updates in range(1, 8):  # A folder that is opened anew each time goes on counting.
        Checkpoints(tmp_path, KeepCheckpoints(last=1, every_nth=3)).save(state(updates))
    assert kept(tmp_path) == [(1, 3), (1, 6), (1, 7)]


def test_the_checkpoint_of_another_network_is_refused() -> None:
    state().check("0123")
    with pytest.raises(CheckpointError, match="shapes 0123; the config builds 4567"):
        state().check("4567")


def test_a_resumed_run_is_bit_for_bit_the_uninterrupted_one(tmp_path: Path) -> None:
    run = Run().train(3)
    path = run.save(Checkpoints(tmp_path, KeepCheckpoints(last=1)))
    uninterrupted = run.train(2).bits()  # First: the generators are those of the process.
    assert Run(seed=5, path=path).train(2).bits() == uninterrupted


def test_without_the_moments_of_adam_a_resumed_run_would_be_another(tmp_path: Path) -> None:
    run = Run().train(3)
    path = run.save(Checkpoints(tmp_path))
    assert path is not None
    found = load_state(path)
    forgetful = replace(found.progress, trained=replace(found.progress.trained, optimizer={"state": {}, "groups": []}))
    other = Checkpoints(tmp_path / "other").save(replace(found, progress=forgetful))
    uninterrupted = run.train(2).bits()
    assert Run(seed=5, path=other).train(2).bits() != uninterrupted


def test_with_an_average_the_checkpoint_serves_it_and_keeps_the_weights_too(tmp_path: Path) -> None:
    run = Run(trainer(optimizer={"ema_decay": 0.9})).train(1)
    path = run.save(Checkpoints(tmp_path))
    assert path is not None
    played, trained = read_model(path).arrays["policy.bias"], run.module.policy.bias.detach()
    assert torch.equal(torch.from_numpy(played), run.trained.weights()["policy.bias"])
    assert torch.equal(load_state(path).progress.trained.model["policy.bias"], trained)
    assert not torch.equal(torch.from_numpy(played), trained)


def test_positions_of_inputs_come_back(tmp_path: Path) -> None:
    positions = {"demonstrations": {"epoch": 2, "row": 100, "left": torch.tensor([3, 1])}}
    got = load_state(Checkpoints(tmp_path).save(replace(state(), positions=positions))).positions
    assert digest(got) == digest(positions)


def test_a_checkpoint_tells_what_generations_went_on_from(tmp_path: Path) -> None:
    before = Ancestry((Origin(1, Version(0, 3)),))
    got = load_state(Checkpoints(tmp_path).save(replace(state(), generation=1, number=7, ancestry=before)))
    assert got.ancestry == before
    assert got.ancestry_of(4) == Ancestry((*before.origins, Origin(4, Version(1, 7))))


def test_a_checkpoint_that_tells_nothing_of_it_is_read(tmp_path: Path) -> None:
    path = Checkpoints(tmp_path).save(state())
    meta = json.loads((path / META).read_text())
    del meta["learner"]["ancestry"]
    (path / META).write_text(json.dumps(meta))
    assert load_state(path).ancestry == Ancestry()
