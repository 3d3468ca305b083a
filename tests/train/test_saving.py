"""When a checkpoint is due, and what a worker starts from."""

import logging
from dataclasses import replace
from pathlib import Path

import pytest

from app.config.checkpoints import CheckpointsConfig
from app.errors import CheckpointError, ModelMismatchError
from app.models.module import hash_of, to_arrays
from app.models.saved import SavedModel, write_model
from tests.small_policy import SmallPolicy, small_policy
from train.beginning import Beginning
from train.checkpoint import FILE, LearnerState
from train.resume import Progress
from train.saving import Saving, SavingArgs
from train.strategies.strategy import TrainedState


class Clock:
    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def saving(folder: Path, beginning: Beginning | None = None, run: str = "run 1", **settings: object) -> Saving:
    config = CheckpointsConfig.model_validate(settings)
    return Saving(config, SavingArgs(str(folder), beginning, run), Clock())


def state(module: SmallPolicy, updates: int, run: str = "run 1", generation: int = 1) -> LearnerState:
    trained = TrainedState(module.state_dict(), steps=10 * updates)
    return LearnerState(Progress(trained), updates, generation, hash_of(module), run)


def restored(saved: Saving, seed: int = 9) -> tuple[int, float, int]:
    """Returns updates, a weight and the optimizer steps after a beginning with another network."""
    module = small_policy(seed)
    begun = saved.begin(module, hash_of(module), "a:b")
    updates, steps = (0, 0) if begun is None else (begun.updates, begun.progress.trained.steps)
    return updates, module.policy.bias[0].item(), steps


def weight(seed: int) -> float:
    return small_policy(seed).policy.bias[0].item()


def test_by_time_a_checkpoint_is_due_after_so_many_seconds_whether_or_not_it_was_written(tmp_path: Path) -> None:
    clock = Clock()
    saved = Saving(CheckpointsConfig(every_s=10), SavingArgs(str(tmp_path), None, "run"), clock)
    due = []
    for now_s in (109.9, 110.0, 119.9, 120.0):
        clock.now_s = now_s
        due.append(saved.due(updates=1))
    assert due == [False, True, False, True]


def test_by_updates_a_checkpoint_is_due_after_so_many(tmp_path: Path) -> None:
    saved = saving(tmp_path, every_updates=3, every_s=None)
    assert [updates for updates in range(1, 10) if saved.due(updates)] == [3, 6, 9]


def test_with_both_whichever_comes_first(tmp_path: Path) -> None:
    clock = Clock()
    saved = Saving(CheckpointsConfig(every_s=10, every_updates=5), SavingArgs(str(tmp_path), None, "run"), clock)
    clock.now_s = 111
    due = [saved.due(updates) for updates in (1, 5, 6)]  # Both count again from the first.
    assert due == [True, False, True]


def test_with_nothing_to_start_from_the_network_stays_as_it_is(tmp_path: Path) -> None:
    assert restored(saving(tmp_path)) == (0, weight(9), 0)


def test_to_go_on_brings_weights_updates_and_optimizer(tmp_path: Path) -> None:
    path = saving(tmp_path).save(state(small_policy(3), 7))
    assert restored(saving(tmp_path / "own", Beginning(str(path), whole=True))) == (7, weight(3), 70)


def test_the_weights_alone_leave_updates_and_optimizer_new(tmp_path: Path) -> None:
    path = saving(tmp_path).save(state(small_policy(3), 7))
    assert restored(saving(tmp_path / "own", Beginning(str(path), whole=False))) == (0, weight(3), 0)


def test_after_a_resume_updates_count_from_there(tmp_path: Path) -> None:
    path = saving(tmp_path).save(state(small_policy(3), 7))
    saved = saving(tmp_path / "own", Beginning(str(path), whole=True), every_updates=5, every_s=None)
    restored(saved)
    assert [updates for updates in range(8, 20) if saved.due(updates)] == [12, 17]


def test_workers_that_follow_a_failed_group_go_on_from_the_newest_of_the_same_start(tmp_path: Path) -> None:
    before = saving(tmp_path, run="before").save(state(small_policy(1), 100, "before"))
    begun = Beginning(str(before), whole=True)
    assert restored(saving(tmp_path, begun))[:2] == (100, weight(1))
    saving(tmp_path).save(state(small_policy(2), 104, "run 1", generation=2))
    newer = saving(tmp_path, run="after")
    newer.save(state(small_policy(3), 200, "after", generation=3))
    assert restored(saving(tmp_path, begun))[:2] == (104, weight(2))
    assert saving(tmp_path).newest_generation() == 3


def test_of_the_same_start_a_damaged_one_is_passed_over(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    saving(tmp_path).save(state(small_policy(1), 3))
    newest = saving(tmp_path).save(state(small_policy(2), 4))
    (newest / FILE).write_bytes(b"half")
    with caplog.at_level(logging.WARNING):
        assert restored(saving(tmp_path))[:2] == (3, weight(1))
    assert str(newest) in caplog.text


def test_what_was_asked_for_by_name_is_refused_where_it_is_damaged(tmp_path: Path) -> None:
    path = saving(tmp_path).save(state(small_policy(3), 7))
    (path / FILE).write_bytes(b"half")
    with pytest.raises(CheckpointError, match=f"cannot read checkpoint {path}: {FILE} is damaged"):
        restored(saving(tmp_path / "own", Beginning(str(path), whole=True)))


def test_weights_of_another_network_are_refused(tmp_path: Path) -> None:
    wide = small_policy(3, inputs=5)
    path = saving(tmp_path).save(state(wide, 7))
    with pytest.raises(CheckpointError, match="the config builds"):
        restored(saving(tmp_path / "own", Beginning(str(path), whole=True)))
    (tmp_path / "model").mkdir()
    write_model(tmp_path / "model", SavedModel("x:y", {}, hash_of(wide), "1.0", to_arrays(wide)))
    with pytest.raises(ModelMismatchError, match=f"{tmp_path / 'model'} was saved by x:y .* a:b builds"):
        restored(saving(tmp_path / "own", Beginning(str(tmp_path / "model"), whole=False)))


def test_keep_reaches_the_folder(tmp_path: Path) -> None:
    saved = saving(tmp_path, keep={"last": 1, "best": {"metric": "loss", "order": "smallest"}})
    for updates, loss in ((1, 5.0), (2, 0.5), (3, float("nan")), (4, 2.0)):
        saved.save(replace(state(small_policy(), updates), metrics={"loss": loss}))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["000001-0000000002", "000001-0000000004"]


def test_a_metric_that_no_update_has_is_named_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    saved = saving(tmp_path, keep={"best": {"metric": "los"}})
    for updates in (1, 2):
        saved.save(replace(state(small_policy(), updates), metrics={"loss": 1.0, "entropy": 2.0}))
    assert [message for message in caplog.messages if "'los'" in message] == [
        "keep.best compares checkpoints by 'los', which no update has: none is kept for it; "
        "there are mean_return, entropy, loss"
    ]


def test_the_mean_return_may_still_be_missing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    saving(tmp_path, keep={"best": {}}).save(replace(state(small_policy(), 1), metrics={"loss": 1.0}))
    assert caplog.messages == []


def test_the_folder_of_the_checkpoint_that_training_went_on_from_is_known(tmp_path: Path) -> None:
    """What lies beside it comes back too."""
    first, second = tmp_path / "first", tmp_path / "second"
    path = saving(first).save(state(small_policy(3), updates=4))
    begun = saving(second, Beginning(str(path), whole=True), run="run 2")
    assert restored(begun)[0] == 4
    assert begun.begun_in == first
    begun.save(state(small_policy(3), updates=5, run="run 2"))
    again = saving(second, Beginning(str(path), whole=True), run="run 2")
    assert restored(again)[0] == 5
    assert again.begun_in == second
