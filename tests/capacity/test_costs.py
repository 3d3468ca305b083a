from dataclasses import replace

import pytest

from app.capacity.costs import DecisionCost, along, costs_of
from app.capacity.measured import Measured
from app.capacity.reading import measured_of
from app.capacity.workload import Learning, Model, Workload
from app.errors import PlanError
from tests.capacity import figures


@pytest.fixture(scope="module")
def measured() -> Measured:
    return measured_of(figures.lines())


BARE = Workload(1000, 10, model=Model("none"))


def test_a_tick_costs_what_it_did_with_few_and_with_many_connections(measured: Measured) -> None:
    tick = costs_of(measured, BARE).tick
    assert (tick.busy_s, tick.idle_s) == (pytest.approx(50e-6), pytest.approx(70e-6))


def test_a_larger_body_costs_more_along_the_line(measured: Measured) -> None:
    """By hand: 2080 lies half way from 64 to 4096, where a tick takes 40 µs more."""
    assert costs_of(measured, replace(BARE, body_bytes=2080)).tick.busy_s == pytest.approx(70e-6)


def test_a_decision_is_a_call_and_its_rows(measured: Measured) -> None:
    found = costs_of(measured, replace(BARE, model=Model("mlp"))).decision
    assert found.call_s == pytest.approx(62e-6)
    assert found.row_s == pytest.approx(2e-6)
    assert found.each_s == pytest.approx(10e-6)
    assert found.batch_s(32) == pytest.approx(126e-6)


def test_a_local_decision_alone_is_part_of_the_tick(measured: Measured) -> None:
    costs = costs_of(measured, replace(BARE, model=Model("mlp")))
    assert costs.tick.busy_s == pytest.approx(50e-6 + 10e-6 + 64e-6)
    assert costs.without_network().busy_s == pytest.approx(60e-6)


def test_a_remote_decision_costs_the_replica_the_question_and_the_model_its_connections(measured: Measured) -> None:
    """By hand: 50,000 a second are 20 µs each, of which the engine takes 62 / 32 + 2."""
    costs = costs_of(measured, replace(BARE, model=Model("mlp", "remote")))
    assert costs.tick.busy_s == pytest.approx(65e-6)
    assert costs.decision.batch_s(32) / 32 == pytest.approx(20e-6)


def test_a_decision_that_the_user_has_measured_counts(measured: Measured) -> None:
    costs = costs_of(measured, replace(BARE, model=Model("mlp", decision_us=500)))
    assert costs.tick.busy_s == pytest.approx(550e-6)
    assert any("500 µs" in note for note in costs.notes)


def test_a_gpu_answers_as_many_as_are_given(measured: Measured) -> None:
    costs = costs_of(measured, replace(BARE, model=Model("mlp", "remote", gpu_decisions_per_s=1e6)))
    assert costs.decision == DecisionCost(0.0, 1e-6, pytest.approx(15e-6))


def test_cartpole_stands_for_itself(measured: Measured) -> None:
    costs = costs_of(measured, replace(BARE, model=Model("cartpole")))
    assert (costs.tick.busy_s, costs.tick.idle_s) == (pytest.approx(90e-6), pytest.approx(100e-6))
    assert costs.decision.batch_s(1) == 0


def test_rows_cost_their_push_in_the_replica_and_the_rest_behind_it(measured: Measured) -> None:
    costs = costs_of(measured, replace(BARE, learning=Learning(share=0.5, row_bytes=1)))
    assert costs.tick.busy_s == pytest.approx(51e-6)
    assert costs.learning is not None
    assert costs.learning.row_s == pytest.approx(3e-6)
    assert costs.learning.shard_rows_per_s == pytest.approx(400_000)
    assert costs.learning.worker_samples_per_s == pytest.approx(80_000)
    assert costs.learning.publish_s == pytest.approx(0.02)


def test_a_network_that_was_not_measured_is_an_error(measured: Measured) -> None:
    with pytest.raises(PlanError, match="what a decision of cnn costs"):
        costs_of(measured, replace(BARE, model=Model("cnn")))


def test_between_sizes_a_line_and_beyond_them_the_last_one_goes_on() -> None:
    sizes, values = [100.0, 0.0, 200.0], [20.0, 10.0, 40.0]
    assert [along(sizes, values, at) for at in (-5, 50, 150, 300)] == pytest.approx([10, 15, 30, 60])
    assert along([0.0, 10.0], [5.0, 4.0], 100) == 4
    assert along([7.0], [3.0], 100) == 3
