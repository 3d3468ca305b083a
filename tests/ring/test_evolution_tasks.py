"""Shares in Ray tasks: what is lost is played again, and nothing waits for ever."""

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.config.evolution import EvolutionTasks
from app.errors import ConfigError, TrainingError
from app.models.module import build_module, to_arrays
from train.evolution.play import Candidate, Job, Share, play
from train.evolution.tasks import Tasks

from .service import Cluster

pytestmark = pytest.mark.ray

DEADLY, ALONE, ENDLESS = (f"deadly:Sparring{name}-v0" for name in ("Deadly", "Alone", "Endless"))
FACTORY, KWARGS = "app.games.cartpole.model:build", {"hidden": 4}
JOB = Job(FACTORY, KWARGS, to_arrays(build_module(FACTORY, KWARGS, 0)), DEADLY, None)
SHARES = [Share((Candidate(seed, 0.5), Candidate(seed, -0.5)), (seed,)) for seed in range(6)]


@pytest.fixture
def deaths(cluster: Cluster) -> Iterator[Path]:
    """Gives the folder that says who dies."""
    folder = cluster.home / "deaths"
    folder.mkdir(parents=True)
    yield folder
    shutil.rmtree(folder)


def test_a_task_whose_process_dies_is_played_again_and_costs_nothing(deaths: Path) -> None:
    wanted = [play(JOB, share) for share in SHARES]
    (deaths / "death").touch()
    tasks = Tasks(EvolutionTasks(), nothing)
    assert tasks.play(JOB, SHARES) == wanted
    assert tasks.lost == 1
    assert list(deaths.iterdir()) == []


def test_a_task_that_is_lost_too_often_ends_the_run(deaths: Path) -> None:
    for number in range(2):
        (deaths / f"death{number}").touch()
    with pytest.raises(TrainingError, match=r"a task was lost 2 times; evolution.tasks.max_restarts is 1"):
        Tasks(EvolutionTasks(at_once=1, max_restarts=1), nothing).play(JOB, SHARES[:1])
    assert list(deaths.iterdir()) == []


def test_no_more_tasks_are_under_way_than_may_be(deaths: Path) -> None:
    settings = EvolutionTasks(at_once=1)
    assert len(Tasks(settings, nothing).play(replace(JOB, env=ALONE), SHARES)) == len(SHARES)
    assert list(deaths.iterdir()) == []


def test_a_task_that_fails_says_why(deaths: Path) -> None:
    with pytest.raises(TrainingError, match=r"a task failed: evolution.env is NoSuchGame-v0, which cannot be made"):
        Tasks(EvolutionTasks(), nothing).play(replace(JOB, env="NoSuchGame-v0"), SHARES)


def test_tasks_that_would_find_no_room_are_refused(deaths: Path) -> None:
    with pytest.raises(ConfigError, match=r"evolution\.tasks\.num_cpus is 99; allowed is at most what .* has, 4"):
        Tasks(EvolutionTasks(num_cpus=99), nothing)


def test_tasks_that_do_not_end_are_given_up(deaths: Path) -> None:
    settings = EvolutionTasks(timeout_s=0.5)
    with pytest.raises(TrainingError, match=r"no task has ended in 0\.5 s; give them more"):
        Tasks(settings, nothing).play(replace(JOB, env=ENDLESS), SHARES)


def test_a_wish_to_stop_ends_the_wait(deaths: Path) -> None:
    def stop() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Tasks(EvolutionTasks(), stop).play(JOB, SHARES)


def nothing() -> None:
    """Stops nothing."""
