"""What a launch tells of its updates."""

import pytest

from app.stores.metrics_values import Update
from train.launch.result import lag_of, of_inputs


def test_the_lag_of_several_inputs_is_that_of_those_which_have_one() -> None:
    turns = [
        Update(1, 0.0, {"rollouts/lag_mean": 1.0, "rollouts/lag_max": 2.0}),
        Update(2, 0.0, {"demos/loss_total": 0.5}),
        Update(3, 0.0, {"rollouts/lag_mean": 2.0, "rollouts/lag_max": 3.0}),
    ]
    assert lag_of(turns) == (pytest.approx(1.5), 3.0)
    assert lag_of([Update(1, 0.0, {"lag_mean": 1.0, "lag_max": 1.0})]) == (1.0, 1.0)
    assert lag_of(turns[1:2]) == (None, None)


def test_a_metric_of_another_name_is_not_taken_for_one_of_an_input() -> None:
    metrics = {"a/loss_total": 1.0, "b/loss_total": 2.0, "loss_total_max": 3.0, "held_out/a/loss_total": 4.0}
    assert of_inputs(metrics, "loss_total") == [1.0, 2.0]
