"""Whole evolutions in this process: what is learned, told, saved and gone on from."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch

from app.config.load import load
from app.errors import CheckpointError, ConfigError, TrainingError
from app.models.checkpoints import whole_checkpoints
from app.models.module import build_module, from_arrays
from app.models.reference import ModelReferences
from train.checkpoint import LearnerState, load_state
from train.evolution.play import Job, Played, Share
from train.evolution.run import EvolutionResult, EvolutionRun

from .small import ES, InTurn, small


class Story:
    """A run and what it told."""

    def __init__(self, home: Path, *settings: str, restore: str | None = None) -> None:
        self.told: list[tuple[int, dict[str, float]]] = []
        self.plays = InTurn()
        self.run = EvolutionRun(small(*settings), home, self.plays, self.log, restore, now_s=0.0)

    def log(self, updates: int, metrics: Mapping[str, float]) -> None:
        self.told.append((updates, dict(metrics)))


def test_a_run_tells_of_each_update_and_ends_with_an_evaluation_and_a_checkpoint(tmp_path: Path) -> None:
    story = Story(tmp_path, "evolution.max_updates=3", "evolution.evaluation.every_updates=2")
    result = story.run.run()
    assert [updates for updates, _ in story.told] == [1, 2, 3]
    assert ["eval_return_mean" in metrics for _, metrics in story.told] == [False, True, True]
    assert {"mean_return", "return_std", "grad_norm", "weights_norm", "env_ticks"} <= story.told[0][1].keys()
    assert (result.solved, result.updates, result.games) == (None, 3, 3 * 8 + 2 * 3)
    assert result.mean_return == story.told[-1][1]["eval_return_mean"]
    assert state(result).updates == 3


def test_a_goal_ends_the_run(tmp_path: Path) -> None:
    result = Story(tmp_path, "evolution.goal=1", "evolution.evaluation.every_updates=1").run.run()
    assert (result.solved, result.updates) == (True, 1)
    missed = Story(tmp_path, "evolution.goal=21", "evolution.max_updates=1").run.run()
    assert (missed.solved, missed.updates) == (False, 1)


def test_the_order_in_which_tasks_end_and_how_they_are_cut_change_nothing(tmp_path: Path) -> None:
    one = state(Story(tmp_path / "one", "evolution.max_updates=2").run.run())
    other = state(Story(tmp_path / "other", "evolution.max_updates=2", "evolution.tasks.pairs=1").run.run())
    assert same(one, other)
    elsewhere = state(Story(tmp_path / "seed", "evolution.max_updates=2", "run.seed=1").run.run())
    assert not same(one, elsewhere)


def test_a_resumed_run_becomes_what_the_uninterrupted_one_does(tmp_path: Path) -> None:
    whole = state(Story(tmp_path / "whole", "evolution.max_updates=4").run.run())
    Story(tmp_path / "cut", "evolution.max_updates=2").run.run()
    resumed = Story(tmp_path / "cut", "evolution.max_updates=4", restore="latest")
    assert resumed.run.updates == 2
    rest = state(resumed.run.run())
    assert same(whole, rest)
    assert (rest.updates, rest.generation, len(rest.ancestry.as_lists())) == (4, 2, 1)


def test_a_new_start_moves_checkpoints_aside_and_one_that_shall_refuse_does(tmp_path: Path) -> None:
    Story(tmp_path, "evolution.max_updates=1").run.run()
    Story(tmp_path, "evolution.max_updates=1").run.run()
    folders = sorted(path.name.partition(".")[0] for path in (tmp_path / "es" / "checkpoints").iterdir())
    assert folders == ["evolution", "evolution"]
    with pytest.raises(CheckpointError, match=r"evolution.checkpoints.on_existing is refuse"):
        Story(tmp_path, "evolution.checkpoints.on_existing=refuse")


def test_a_failed_task_loses_nothing_that_was_learned(tmp_path: Path) -> None:
    story = Story(tmp_path, "evolution.max_updates=5")
    played = story.plays.play

    def play(job: Job, shares: Sequence[Share]) -> list[Played]:
        if story.run.updates == 2:
            raise TrainingError("lost too often")
        return played(job, shares)

    story.plays.play = play  # type: ignore[method-assign]
    with pytest.raises(TrainingError, match="lost too often"):
        story.run.run()
    (saved,) = whole_checkpoints(tmp_path / "es" / "checkpoints" / "evolution")
    assert load_state(saved).updates == 2


def test_a_run_with_nothing_left_to_learn_evaluates_what_there_is(tmp_path: Path) -> None:
    Story(tmp_path, "evolution.max_updates=1").run.run()
    again = Story(tmp_path, "evolution.max_updates=1", restore="latest")
    result = again.run.run()
    assert (result.updates, result.games, again.told) == (1, 3, [])


def test_its_checkpoint_is_a_model_of_the_trial_that_can_be_named(tmp_path: Path) -> None:
    result = Story(tmp_path, "evolution.max_updates=1").run.run()
    found = ModelReferences(tmp_path, "es").read("checkpoints/latest").saved
    module = build_module(found.factory, found.kwargs, 1)
    from_arrays(module, found.arrays)
    trained = state(result).progress.trained.model
    assert all(torch.equal(x, trained[name]) for name, x in module.state_dict().items())


def test_what_no_action_depends_on_stays_as_it_was(tmp_path: Path) -> None:
    first = build_module("app.games.cartpole.model:build", {"hidden": 8}, 0).state_dict()
    trained = state(Story(tmp_path, "evolution.max_updates=2").run.run()).progress.trained.model
    changed = {name.partition(".")[0] for name, x in trained.items() if not np.array_equal(x, first[name])}
    assert changed == {"policy"}


def test_a_config_that_evolves_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="the config has no evolution section"):
        EvolutionRun(load(ES.parent / "rl.yaml"), tmp_path, InTurn(), lambda *_: None, None, 0.0)
    with pytest.raises(ConfigError, match=r"run.mode is deploy, which trains nothing"):
        Story(tmp_path, "run.mode=deploy")


@pytest.mark.slow
def test_the_shipped_config_balances_cartpoles_pole(tmp_path: Path) -> None:
    result = EvolutionRun(load(ES), tmp_path, InTurn(), lambda *_: None, None, 0.0).run()
    assert result.solved
    assert result.mean_return >= 475


def state(result: EvolutionResult) -> LearnerState:
    return load_state(Path(result.checkpoint))


def same(one: LearnerState, other: LearnerState) -> bool:
    weights, others = one.progress.trained.model, other.progress.trained.model
    return all(torch.equal(x, others[name]) for name, x in weights.items())
