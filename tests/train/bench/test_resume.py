"""What deaths of workers say."""

from pathlib import Path

import pytest

from app.config.slots import slots, total
from app.stores.metrics_values import Update
from train.bench.resume import _since_start, resume_config, told_resumes

RL = Path(__file__).parents[3] / "configs" / "rl.yaml"


def test_deaths_are_told_with_the_slowest_and_what_was_done_again() -> None:
    told = told_resumes(2, [10.0, 11.0, 10.0, 10.5, 12.0], [3, 0, 7, 1, 2])
    assert (told["back_s_max"], told["lost_updates_max"], told["within"], told["measured"]) == (12.0, 7, True, True)


@pytest.mark.parametrize("slowest", [30.0, 30.1])
def test_the_slowest_must_be_within_the_aim(slowest: float) -> None:
    assert told_resumes(2, [10.0, slowest], [0, 0])["within"] is (slowest <= 30)


def test_few_deaths_are_not_measured() -> None:
    assert told_resumes(2, [10.0] * 4, [0] * 4)["measured"] is False


def test_updates_since_the_newest_start_begin_with_the_one_that_tells_of_it() -> None:
    updates = [Update(0, 1.0, {}), Update(1, 2.0, {"loss": 1.0}), Update(1, 3.0, {}), Update(2, 4.0, {"loss": 1.0})]
    assert _since_start(updates) == updates[2:]
    assert _since_start(updates[1:2]) == []


def test_the_config_fits_the_machine_and_saves_each_second() -> None:
    config = resume_config(2, 0, RL)
    assert config.trainers["main"].checkpoints.every_s == 1
    assert total(slots(config)).num_cpus <= 2
