"""Plans that were worked out by hand."""

import math
from dataclasses import replace

import pytest

from app.capacity.costs import Costs, DecisionCost, LearningCost, TickCost
from app.capacity.machine import Machine
from app.capacity.plan import Plan, plan_of
from app.capacity.workload import Learning, Margins, Model, Workload
from app.errors import PlanError

MACHINE = Machine(cores=9, memory_gb=100, network_gbit_s=10, price_per_hour=2, system_cores=1, round_trip_ms=0)
COSTS = Costs(TickCost(100e-6, 100e-6), DecisionCost(), None, session_kib=10, notes=())
BARE = Workload(10_000, 10, model=Model("none"))
NO_LOSS = Margins(utilisation=0.5, utilisation_after_loss=0.8, lost_nodes=0, replica_mb=0, variation=0)
LEARNS = replace(COSTS, learning=LearningCost(2e-6, 1e6, 1e5, 0.02))


def planned(workload: Workload = BARE, costs: Costs = COSTS, margins: Margins = NO_LOSS, **machine: float) -> Plan:
    return plan_of(workload, costs, MACHINE.model_copy(update=machine), margins)


def demand(plan: Plan, name: str) -> int:
    return next(one.processes for one in plan.sized.demands if one.name == name)


def test_cores_follow_from_ticks_and_their_cost() -> None:
    """By hand: 100,000 ticks of 100 µs are 10 cores' work, 20 at half; with the stores' core 21 of 8 a node: 3."""
    plan = planned()
    assert (plan.sized.replicas, plan.sized.nodes, plan.sized.limit) == (20, 3, "cores")
    assert plan.queue.utilisation == pytest.approx(0.5)
    assert plan.queue.ticks_per_s == 5000


def test_the_queue_is_that_of_m_d_1() -> None:
    """By hand: at a half a customer waits half a service; 5,000 a second are 0.25 that wait."""
    plan = planned()
    assert plan.queue.waiting == pytest.approx(0.25)
    assert plan.queue.p99_ms == pytest.approx(0.1 + 0.1 * math.log(50))


def test_the_price_is_that_of_the_nodes() -> None:
    """By hand: 3 nodes at 2 an hour, 360 million ticks in it."""
    plan = planned()
    assert (plan.price_per_hour, plan.price_per_month) == (6, 4380)
    assert plan.price_per_million_ticks == pytest.approx(6 / 360)


def test_what_is_left_after_a_loss_holds_the_load() -> None:
    """By hand: 12.5 cores at 0.8 are 13 replicas; of 3 nodes 2 must hold them: 20 replicas, 13.3 left and a store."""
    plan = planned(margins=replace(NO_LOSS, lost_nodes=1))
    assert plan.sized.nodes == 3
    assert plan.after_loss.utilisation == pytest.approx(0.75)


def test_two_nodes_are_twice_the_cores_where_one_may_be_lost() -> None:
    """By hand: 10,000 ticks a second are 2 replicas at 0.5 and 2 at 0.8, and the half of 4 must do."""
    plan = planned(replace(BARE, games=1000), margins=replace(NO_LOSS, lost_nodes=1))
    assert (plan.sized.nodes, plan.sized.replicas, plan.sized.limit) == (2, 4, "loss of nodes")
    assert plan.after_loss.utilisation == pytest.approx(0.5)


def test_memory_may_decide() -> None:
    """By hand: 10,000 sessions of 10 KiB are 0.0954 GiB; of 0.01 GiB a node 0.7 may be used: 14 nodes."""
    plan = planned(
        memory_gb=0.01, margins=replace(NO_LOSS, helpers=0.7), workload=replace(BARE, model=Model("none", weights_mb=0))
    )
    assert (plan.sized.nodes, plan.sized.limit) == (14, "memory")


def test_the_network_may_decide() -> None:
    """By hand: 100,000 ticks of 64 + 180 + 90 and 90 bytes a second are 0.339 Gbit; of 0.1 a node 0.7: 5 nodes."""
    plan = planned(network_gbit_s=0.1)
    assert plan.traffic.ticks_in == pytest.approx(0.3392e9)
    assert (plan.sized.nodes, plan.sized.limit) == (5, "network")
    assert plan.node_gbit_s == pytest.approx(0.3392 / 5)


def test_learners_and_shards_keep_up_with_the_rows() -> None:
    """By hand: 50,000 rows a second in 4 passes are 200,000 samples; of 100,000 a worker 0.7: 3 workers."""
    plan = planned(replace(BARE, learning=Learning(share=0.5, batch_rows=5000, max_policy_lag=100)), LEARNS)
    assert (demand(plan, "learners"), demand(plan, "buffer")) == (3, 1)
    assert plan.flow is not None
    assert plan.flow.updates_per_s == pytest.approx(50_000 / 15_000)


def test_rows_are_as_old_as_trajectory_push_and_batch_make_them() -> None:
    """By hand: 3.2 s for half a trajectory, 25 ms for half a push, 150 ms for half a batch, and 20 ms of a publish."""
    plan = planned(replace(BARE, learning=Learning(share=0.5, batch_rows=5000, max_policy_lag=100)), LEARNS)
    assert plan.flow is not None
    assert plan.flow.row_age_s == pytest.approx(3.2 + 0.025 + 0.15)
    assert plan.flow.lag == pytest.approx(3.395 / 0.3)
    assert not plan.problems


def test_rows_that_are_too_old_and_publishes_that_are_too_many_are_problems() -> None:
    plan = planned(replace(BARE, learning=Learning(share=0.5, batch_rows=128)), LEARNS)
    assert len(plan.problems) == 2
    assert "publish_every_updates from 3 on" in plan.problems[0]
    assert "max_policy_lag 8" in plan.problems[1]


def test_weights_go_to_every_node() -> None:
    """By hand: 10 publishes a second of 1 MiB are 83.9 Mbit/s on each node."""
    learning = Learning(share=0.5, batch_rows=5000, max_policy_lag=100, epochs=1)
    plan = planned(replace(BARE, learning=learning), LEARNS)
    assert plan.traffic.weights_per_node == pytest.approx(10 * 2**20 * 8)
    with pytest.raises(PlanError, match=r"new weights alone are 0.0839 Gbit/s on each node"):
        planned(replace(BARE, learning=learning), LEARNS, network_gbit_s=0.1)


def test_remote_models_are_as_many_as_decisions_take() -> None:
    """By hand: a batch of 32 takes 64 + 32 * 2 µs, 4 a decision: 100,000 are 0.4 cores' work, of 0.1 each 4 models."""
    costs = replace(COSTS, decision=DecisionCost(64e-6, 2e-6))
    plan = planned(replace(BARE, model=Model("mlp", "remote")), costs, replace(NO_LOSS, helpers=0.1))
    assert demand(plan, "models") == 4


def test_gpus_need_machines_with_gpus() -> None:
    workload = replace(BARE, model=Model("mlp", "remote", gpu_decisions_per_s=20_000))
    costs = replace(COSTS, decision=DecisionCost(0, 50e-6))
    assert planned(workload, costs, gpus=2).sized.limit == "GPUs"
    assert planned(workload, costs, gpus=2).sized.nodes == 4
    with pytest.raises(PlanError, match="it takes GPUs and machine has 0"):
        planned(workload, costs)


def test_a_wanted_time_that_is_not_met_is_a_problem() -> None:
    (problem,) = planned(replace(BARE, latency_ms=0.4)).problems[:1]
    assert problem == "99 of 100 ticks are answered within 0.491 ms; wanted are 0.4"


def test_too_much_for_any_number_of_machines_is_an_error() -> None:
    with pytest.raises(PlanError, match=r"no number of machine holds it: cores would take more than 100,000"):
        planned(replace(BARE, games=10**9))
