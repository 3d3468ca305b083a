"""The allocation of jobs: turns by events, one reward for all, and a view that fades."""

from collections.abc import Callable

import numpy as np
import pytest
from pettingzoo.test import api_test

from app.games.allocation.environment import JOBS, SPEEDS, Allocation


def played(choose: Callable[[Allocation], int], games: int = 8) -> float:
    """Returns the mean return of games, each with its own seed."""
    returns = []
    for seed in range(games):
        env = Allocation()
        env.reset(seed=seed)
        total = 0.0
        while not env.truncations["agent_0"]:
            env.step(choose(env))
            assert len(set(env.rewards.values())) == 1
            total += env.rewards["agent_0"]
        returns.append(total)
    return float(np.mean(returns))


@pytest.mark.filterwarnings("ignore")
def test_pettingzoos_own_test_of_its_interface_passes() -> None:
    api_test(Allocation(agents=3), num_cycles=300)


def test_a_turn_is_the_arrival_of_a_job_and_equal_seeds_bring_equal_games() -> None:
    orders = []
    for _ in range(2):
        env, order = Allocation(), []
        env.reset(seed=5)
        while not env.truncations["agent_0"]:
            order.append(env.agent_selection)
            env.step(0)
        orders.append(order)
    assert orders[0] == orders[1]
    assert len(orders[0]) == JOBS
    assert set(orders[0]) == set(env.possible_agents)


def test_an_agent_sees_its_own_newest_delay_and_how_old_it_is() -> None:
    env = Allocation(agents=1)
    env.reset(seed=3)
    assert env.observe("agent_0").tolist() == [0.0] * 8
    began_s = env._queues.time_s
    env.step(2)
    seen = env.observe("agent_0")
    assert seen[2] == pytest.approx(-env.rewards["agent_0"] * JOBS)
    assert seen[6] == pytest.approx(np.exp(began_s - env._queues.time_s))
    assert seen[[0, 1, 3, 4, 5, 7]].tolist() == [0.0] * 6


def test_to_know_the_queues_is_worth_more_than_the_speeds_and_those_more_than_chance() -> None:
    rng = np.random.default_rng(0)
    share = np.array(SPEEDS) / sum(SPEEDS)
    knows = played(lambda env: int(env.state().argmin()))
    weighs = played(lambda env: int(rng.choice(4, p=share)))
    guesses = played(lambda env: int(rng.integers(4)))
    assert knows > weighs + 0.2 > guesses + 0.8
