"""The rules."""

import numpy as np
from pettingzoo.test import parallel_api_test

from mygame.agent import follow
from mygame.game import STAY, Apples


def test_it_is_a_pettingzoo_environment() -> None:
    parallel_api_test(Apples(), num_cycles=100)


def test_what_one_side_gets_the_other_loses() -> None:
    game, got = Apples(), 0.0
    seen, _ = game.reset(seed=1)
    while game.agents:
        seen, rewards, *_ = game.step({"left": follow(seen["left"]), "right": STAY})
        assert np.isclose(rewards["left"], -rewards["right"])
        got += rewards["left"]
    assert got > 0


def test_an_apple_that_both_catch_is_nobodys() -> None:
    game, total = Apples(), 0.0
    seen, _ = game.reset(seed=2)
    while game.agents:
        seen, rewards, *_ = game.step({side: follow(seen[side]) for side in game.agents})
        total += abs(rewards["left"])
    assert total < 1  # Of ten apples some at least were caught by both.
