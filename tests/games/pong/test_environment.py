"""Pong as PettingZoo's own tests see it, its rewards, and its end."""

from dataclasses import replace

import numpy as np
import pytest
from pettingzoo.test import parallel_api_test

from app.games.pong.environment import AGENTS, LONGEST_RALLY_TICKS, Pong
from app.games.pong.rules import STAY
from app.games.pong.script import follow

LEFT, RIGHT = AGENTS


def played(env: Pong, seed: int, left: int | None, right: int | None) -> tuple[list[list[float]], list[float]]:
    """Returns what the left side saw, and its rewards; None follows the script."""
    seen, _ = env.reset(seed=seed)
    observations, rewards = [seen[LEFT].tolist()], []
    while env.agents:
        actions = {a: follow(seen[a]) if one is None else one for a, one in zip(AGENTS, (left, right), strict=True)}
        seen, reward, *_ = env.step(actions)
        observations.append(seen[LEFT].tolist())
        rewards.append(reward[LEFT])
        assert reward[LEFT] == -reward[RIGHT]
    return observations, rewards


@pytest.mark.filterwarnings("ignore")
def test_pettingzoos_own_test_of_its_interface_passes() -> None:
    parallel_api_test(Pong(), num_cycles=200)


def test_the_script_beats_who_stands_still_from_both_sides() -> None:
    env = Pong()
    returns = [sum(played(env, seed, None, STAY)[1]) for seed in range(50)]
    returns += [-sum(played(env, seed, STAY, None)[1]) for seed in range(50)]
    assert np.mean(returns) > 0.5  # 0.73 over many games, of which 100 stray by 0.07.


def test_equal_seeds_give_equal_games_and_others_do_not() -> None:
    env = Pong(points=2)
    assert played(env, 3, None, STAY) == played(Pong(points=2), 3, None, STAY)
    assert played(env, 3, None, STAY) != played(env, 4, None, STAY)


def test_games_without_a_seed_differ() -> None:
    env = Pong()
    first = env.reset(seed=1)[0][LEFT]
    env.step({LEFT: STAY, RIGHT: STAY})
    seen = [env.step({LEFT: STAY, RIGHT: STAY})[0][LEFT].tolist() for _ in (env.reset(), env.reset())]
    assert seen[0] != seen[1]
    assert first.tolist() == [0, 0, 0, 0, first[4], first[5]]


def test_who_has_the_points_first_wins_and_each_point_counts() -> None:
    env = Pong(points=3)
    _, rewards = played(env, 5, None, STAY)
    points = [reward for reward in rewards if reward]
    assert points.count(1.0) == 3
    assert points[-1] == 1.0


def test_a_rally_without_end_brings_nothing_and_cuts_the_game_off() -> None:
    env = Pong()
    env.reset(seed=1)
    env._rally = replace(env._rally, velocity=(0.04, 0.0))  # Straight, so that nobody has to move.
    for _ in range(LONGEST_RALLY_TICKS):
        assert env.agents
        _, rewards, terminated, truncated, _ = env.step({LEFT: STAY, RIGHT: STAY})
        assert rewards == {LEFT: 0.0, RIGHT: 0.0}
    assert not env.agents
    assert (terminated[LEFT], truncated[LEFT]) == (False, True)


def test_no_points_are_refused() -> None:
    with pytest.raises(ValueError, match="allowed is at least 1"):
        Pong(points=0)
