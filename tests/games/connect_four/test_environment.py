"""Connect four as PettingZoo's own tests see it, and its rewards."""

import numpy as np
import pytest
from pettingzoo.test import api_test

from app.games.connect_four.environment import ConnectFour


@pytest.mark.filterwarnings("ignore")
def test_pettingzoos_own_test_of_its_interface_passes() -> None:
    api_test(ConnectFour(), num_cycles=200)


def test_who_wins_gets_one_and_the_other_loses_one() -> None:
    env = ConnectFour()
    env.reset()
    for column in (0, 6, 1, 6, 2, 6, 3):
        env.step(column)
    assert env.terminations == {"player_0": True, "player_1": True}
    observation, reward, terminated, truncated, _ = env.last()
    assert (env.agent_selection, reward, terminated, truncated) == ("player_1", -1, True, False)
    assert not observation["action_mask"].any()
    env.step(None)
    assert env.last()[1] == 1


def test_a_draw_brings_nothing() -> None:
    env = ConnectFour()
    env.reset()
    columns = [c for pair in ((0, 1), (2, 3), (4, 5)) for c in (*(pair * 3), *(pair[::-1] * 3))] + [6] * 6
    for column in columns:
        assert not env.terminations["player_0"]
        env.step(column)
    assert env.terminations["player_0"]
    assert env._cumulative_rewards == {"player_0": 0, "player_1": 0}


def test_both_see_their_own_stones_first() -> None:
    env = ConnectFour()
    env.reset()
    env.step(3)
    waiting, moving = env.observe("player_0"), env.observe("player_1")
    assert waiting["observation"][0].sum() == moving["observation"][1].sum() == 1
    assert (waiting["action_mask"].sum(), moving["action_mask"].sum()) == (0, 7)
    np.testing.assert_array_equal(waiting["observation"][0], moving["observation"][1])
