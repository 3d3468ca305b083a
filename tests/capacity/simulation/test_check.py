"""Plans played through."""

import time
from dataclasses import replace

import pytest

from app.capacity.costs import Costs, DecisionCost, LearningCost, TickCost
from app.capacity.machine import Machine
from app.capacity.plan import Plan, plan_of
from app.capacity.simulation.check import check
from app.capacity.simulation.flow import simulate_flow
from app.capacity.simulation.ticks import simulate_ticks
from app.capacity.workload import Learning, Margins, Model, Workload
from app.errors import PlanError

MACHINE = Machine(cores=17, memory_gb=100, network_gbit_s=25, price_per_hour=2, round_trip_ms=0)
TICK = TickCost(100e-6, 120e-6)
COSTS = Costs(TICK, DecisionCost(), LearningCost(2e-6, 1e6, 1e6, 0.02), 10, ())
LEARNING = Learning(batch_rows=8_192, epochs=1, max_policy_lag=100)
BARE = Workload(10_000, 10, model=Model("none"))


def planned(workload: Workload = BARE, costs: Costs = COSTS, lost_nodes: int = 1) -> Plan:
    return plan_of(workload, costs, MACHINE, Margins(lost_nodes=lost_nodes, variation=0))


def test_replicas_do_what_the_plan_says() -> None:
    """Periodic games of one replica wait a little less than Poisson arrivals would."""
    plan = planned()
    run = simulate_ticks(plan, 0, ticks=8_000)
    assert run.after is not None
    for planned_, found in ((plan.queue, run.before), (plan.after_loss, run.after)):
        assert found.utilisation == pytest.approx(planned_.utilisation, rel=0.1)
        assert found.tick_us == pytest.approx(planned_.tick_us, rel=0.05)
        assert 0.4 * planned_.waiting < found.waiting <= 1.1 * planned_.waiting


def test_games_that_are_taken_up_make_ticks_late_for_a_while() -> None:
    run = simulate_ticks(planned(replace(BARE, games=2_000)), 0, ticks=4_000)
    assert run.recovering is not None
    assert run.after is not None
    assert run.recovering.p99_ms > 5 * run.before.p99_ms
    assert run.after.p99_ms < run.recovering.p99_ms


def test_a_local_model_answers_in_batches_that_form_by_themselves() -> None:
    decision = DecisionCost(50e-6, 5e-6)
    alone_s = decision.batch_s(1)
    costs = replace(COSTS, tick=TickCost(TICK.busy_s + alone_s, TICK.idle_s + alone_s), decision=decision)
    run = simulate_ticks(planned(replace(BARE, model=Model("mlp")), costs), 0, ticks=4_000)
    assert 1.05 < run.before.batch_rows < 3
    assert run.before.tick_us < 1e6 * (TICK.idle_s + alone_s)


def test_a_remote_model_is_as_busy_as_the_plan_wants_it() -> None:
    costs = replace(COSTS, decision=DecisionCost(0, 50e-6))
    plan = planned(replace(BARE, model=Model("mlp", "remote")), costs, lost_nodes=0)
    run = simulate_ticks(plan, 0, ticks=4_000)
    models = next(one.processes for one in plan.sized.demands if one.name == "models")
    assert run.replicas == round(plan.sized.replicas / models)
    assert run.before.p50_ms > 1e3 * (TICK.busy_s + 50e-6)
    assert run.before.p99_ms < 5


def test_rows_and_updates_are_those_of_the_plan() -> None:
    plan = planned(replace(BARE, learning=LEARNING), lost_nodes=0)
    flow = simulate_flow(plan, 0)
    assert plan.flow is not None
    assert flow.updates_per_s == pytest.approx(plan.flow.updates_per_s, rel=0.05)
    assert flow.row_age_s == pytest.approx(plan.flow.row_age_s, rel=0.1)
    assert flow.lag_mean == pytest.approx(plan.flow.lag, rel=0.15)
    assert flow.learner_busy == pytest.approx(plan.flow.updates_per_s * 8_192 / 1e6, rel=0.05)
    assert (flow.dropped_share, flow.lost_rows) == (0, 0)


def test_a_learner_that_is_too_slow_drops_rows() -> None:
    plan = planned(replace(BARE, learning=LEARNING))
    assert plan.costs.learning is not None
    slow = replace(plan.costs, learning=replace(plan.costs.learning, worker_samples_per_s=50_000))
    checked = check(replace(plan, costs=slow), 0, 1_000)
    assert checked.flow is not None
    assert checked.flow.learner_busy > 0.95
    assert checked.flow.dropped_share == pytest.approx(0.5, abs=0.1)
    assert any("of the rows are dropped by a full buffer" in problem for problem in checked.problems)


def test_lost_nodes_take_the_rows_of_their_open_trajectories_with_them() -> None:
    """By hand: of 100,000 rows a second one node has its share, and half a trajectory of 6.4 s is 3.2 s of it."""
    plan = planned(replace(BARE, learning=LEARNING))
    assert simulate_flow(plan, 0).lost_rows == pytest.approx(100_000 / plan.sized.nodes * 3.2)


def test_old_rows_and_late_ticks_are_problems() -> None:
    learning = replace(LEARNING, max_policy_lag=1)
    found = check(planned(replace(BARE, learning=learning, latency_ms=0.2)), 0, 1_000).problems
    assert any("99 of 100 ticks are answered within" in problem for problem in found)
    assert any("older than max_policy_lag 1" in problem for problem in found)


@pytest.mark.slow
def test_a_thousand_nodes_take_as_long_as_ten() -> None:
    plan = planned(replace(BARE, games=9_000_000, learning=replace(LEARNING, share=0.02, batch_rows=131_072)))
    assert plan.sized.nodes > 900
    begun_s = time.thread_time()
    checked = check(plan, 0)
    assert not checked.problems
    assert time.thread_time() - begun_s < 15


def test_the_same_seed_says_the_same() -> None:
    plan = planned(replace(BARE, games=500, learning=LEARNING))
    one, other, third = (simulate_ticks(plan, seed, 3_000) for seed in (1, 1, 2))
    assert one == other != third
    assert simulate_flow(plan, 1) == simulate_flow(plan, 1)


def test_a_plan_without_a_learner_has_no_rows() -> None:
    with pytest.raises(PlanError, match="no rows to simulate"):
        simulate_flow(planned(), 0)
