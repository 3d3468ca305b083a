"""The simulated replica is the server of the text books, and takes turns as an event loop does."""

import numpy as np
import pytest
import simpy

from app.capacity.costs import DecisionCost, TickCost
from app.capacity.queueing import mean_service_s, mean_wait_s, utilisation
from app.capacity.simulation.load import GameSettings, arrivals, game
from app.capacity.simulation.remote import Line, ModelReplica
from app.capacity.simulation.replica import Replica, Seen, Tick

TICKS = 20_000


def played(cost: TickCost, rate: float, variation: float, seed: int = 1, ticks: int = TICKS) -> tuple[Seen, float]:
    """Returns what a replica saw of Poisson arrivals, and for how long."""
    env, rng = simpy.Environment(), np.random.default_rng(seed)
    replica = Replica(env, cost, rng, variation)
    env.process(arrivals(env, replica, rate, rng))
    env.run(ticks / rate)
    return replica.look(), ticks / rate


@pytest.mark.parametrize("variation", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("share", [0.3, 0.7])
def test_waits_are_those_of_m_d_1_m_g_1_and_m_m_1(variation: float, share: float) -> None:
    rate = share / 1e-3
    seen, length_s = played(TickCost(1e-3, 1e-3), rate, variation)
    expected_s = mean_wait_s(rate, 1e-3, 1e-3, variation)
    assert seen.busy_s / length_s == pytest.approx(share, rel=0.03)
    assert seen.waited_s / seen.served == pytest.approx(expected_s, rel=0.1)
    assert seen.waited_s / length_s == pytest.approx(rate * expected_s, rel=0.1)


def test_a_replica_that_must_be_woken_is_welchs_server() -> None:
    cost = TickCost(1e-3, 2e-3)
    rate = 450.0
    seen, length_s = played(cost, rate, 0.0)
    share = utilisation(rate, 1e-3, 2e-3)
    assert seen.busy_s / length_s == pytest.approx(share, rel=0.03)
    assert seen.busy_s / seen.served == pytest.approx(mean_service_s(share, 1e-3, 2e-3), rel=0.03)
    assert seen.waited_s / seen.served == pytest.approx(mean_wait_s(rate, 1e-3, 2e-3), rel=0.1)


def test_the_same_seed_is_the_same_simulation() -> None:
    one, other, third = (played(TickCost(1e-3, 1e-3), 700, 1.0, seed, 500)[0] for seed in (1, 1, 2))
    assert one == other != third


def at_once(replica: Replica, env: simpy.Environment, ticks: int) -> Seen:
    for _ in range(ticks):
        replica.arrive(Tick(env.now))
    env.run(10)
    return replica.look()


def test_a_local_model_is_asked_once_for_all_that_wait() -> None:
    """By hand: the first tick wakes the loop, all five join its turn: 20 + 4 * 10 ms, and a batch of 100 + 5 ms."""
    env = simpy.Environment()
    replica = Replica(env, TickCost(0.01, 0.02), np.random.default_rng(0), local=DecisionCost(0.1, 0.001))
    env.run(1)  # It sleeps.
    seen = at_once(replica, env, 5)
    assert seen.batches == 1
    assert seen.answers_s == pytest.approx([0.165] * 5)


def test_a_batch_has_no_more_rows_than_are_allowed() -> None:
    env = simpy.Environment()
    replica = Replica(env, TickCost(0.01, 0.01), np.random.default_rng(0), local=DecisionCost(0.1), max_rows=2)
    env.run(1)
    seen = at_once(replica, env, 5)
    assert seen.batches == 3
    assert seen.answers_s == pytest.approx([0.12, 0.12, 0.24, 0.24, 0.35])


def test_a_remote_model_gets_calls_with_all_that_waits() -> None:
    """By hand: 10 ms of the first tick and 1 ms there, 100 of its batch, back; the others share the second call."""
    env = simpy.Environment()
    model = ModelReplica(env, DecisionCost(0.1), 8)
    line = Line(env, model, 0.002)
    line.replica = replica = Replica(env, TickCost(0.01, 0.01), np.random.default_rng(0), remote=line.ask)
    env.run(1)
    seen = at_once(replica, env, 4)
    assert (model.batches, model.rows) == (2, 4)
    assert seen.answers_s == pytest.approx([0.112, 0.214, 0.214, 0.214])


def test_a_game_ticks_by_its_clock_and_leaves_out_what_it_is_too_late_for() -> None:
    """By hand: the answer at 0.25 and 0.05 of thought make the next tick one at 0.3, and that at 0.4 one at 0.5."""
    env = simpy.Environment()
    replica = Replica(env, TickCost(0.1, 0.1), np.random.default_rng(0))
    env.process(game(env, replica, GameSettings(0.1, 0.05, first_extra_s=0.15), 0.0))
    env.run(0.65)
    assert replica.look().answers_s == pytest.approx([0.25, 0.1, 0.1])
