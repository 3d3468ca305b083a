"""Breakout's frames, lives and serves."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from app.games.atari.environment import Breakout, small


@pytest.mark.filterwarnings("ignore")
def test_gymnasiums_own_check_passes() -> None:
    check_env(Breakout(), skip_render_check=True)


def test_a_frame_is_the_field_at_half_its_size_and_keeps_the_ball() -> None:
    screen = np.zeros((210, 160), np.uint8)
    screen[:34] = 99  # The score.
    screen[34 + 101, 57] = 200  # A ball of one point.
    frame = small(screen)
    assert frame.shape == (80, 80)
    assert np.argwhere(frame).tolist() == [[50, 28]]
    assert frame[50, 28] == 200


def test_the_ball_is_served_by_itself_and_a_lost_one_costs_a_life() -> None:
    env = gymnasium.make("Breakout80-v0", disable_env_checker=True)
    observation, _ = env.reset(seed=1)
    assert observation.shape == (4, 80, 80)
    assert observation.dtype == np.uint8
    ticks, over = 0, False
    while not over and ticks < 1000:
        _, reward, terminated, truncated, _ = env.step(0)
        assert reward in (0.0, 1.0)
        ticks, over = ticks + 1, terminated or truncated
    assert terminated  # Who stands still loses five balls.
    assert ticks > 60


def test_with_one_life_a_game_is_a_ball_and_equal_seeds_play_alike() -> None:
    lengths = []
    for _ in range(2):
        env = gymnasium.make("BreakoutOneLife80-v0", disable_env_checker=True)
        env.reset(seed=7)
        ticks = 1
        while not env.step(2)[2]:
            ticks += 1
        lengths.append(ticks)
    assert lengths[0] == lengths[1] < 200
