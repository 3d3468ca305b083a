"""Tic-tac-toe as PettingZoo's own tests see it, and its rewards."""

import pytest
from pettingzoo.test import api_test

from app.games.tic_tac_toe.environment import TicTacToe


@pytest.mark.filterwarnings("ignore")
def test_pettingzoos_own_test_of_its_interface_passes() -> None:
    api_test(TicTacToe(), num_cycles=100)


def test_who_wins_gets_one_and_the_other_loses_one() -> None:
    env = TicTacToe()
    env.reset()
    for place in (0, 3, 1, 4, 2):
        observation, _, terminated, _, _ = env.last()
        assert observation["action_mask"][place] == 1
        assert not terminated
        env.step(place)
    observation, reward, terminated, _, _ = env.last()
    assert (env.agent_selection, reward, terminated) == ("player_1", -1, True)
    assert not observation["action_mask"].any()
    env.step(None)
    assert env.last()[1] == 1
