"""Pong's rules: walls, paddles, points, and both sides alike."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.games.pong.rules import (
    DOWN,
    FASTER,
    FRAMES_A_TICK,
    HALF_PADDLE,
    PADDLE_SPEED,
    SERVE_SPEED,
    STAY,
    STEEPEST,
    TOP_SPEED,
    UP,
    Rally,
)

ACTIONS = st.integers(0, 2)


def rally(ball: tuple[float, float], velocity: tuple[float, float], left: float = 0.0, right: float = 0.0) -> Rally:
    return Rally((left, right), ball, velocity)


def test_a_tick_is_four_frames_of_paddles_and_ball() -> None:
    after = rally((0.0, 0.1), (0.04, 0.01)).play(UP, DOWN)
    assert after.paddles == pytest.approx((4 * PADDLE_SPEED, -4 * PADDLE_SPEED))
    assert after.ball == pytest.approx((0.16, 0.14))
    assert after.winner is None


def test_paddles_stop_at_the_edge_and_balls_bounce_off_walls() -> None:
    after = rally((0.0, 0.99), (0.0, 0.02), left=0.78).play(UP, STAY)
    assert after.paddles[0] == pytest.approx(0.8)
    assert after.ball[1] == pytest.approx(2 - (0.99 + FRAMES_A_TICK * 0.02))
    assert after.velocity == (0.0, -0.02)


def test_the_place_of_a_hit_turns_the_ball_and_makes_it_faster() -> None:
    after = rally((0.97, 0.1), (0.04, 0.0)).play(STAY, STAY)
    assert after.velocity == pytest.approx((-0.04 * FASTER, STEEPEST * 0.1 / HALF_PADDLE))
    straight = rally((0.97, 0.0), (TOP_SPEED, 0.0)).play(STAY, STAY)
    assert straight.velocity == (-TOP_SPEED, 0.0)


def test_a_missed_ball_is_the_others_point_and_stays_where_it_was_missed() -> None:
    after = rally((0.97, 0.5), (0.04, 0.0)).play(STAY, STAY)
    assert after.winner == 0
    assert after.play(UP, UP) == after
    assert after.mirrored().winner == 1


@given(st.integers(0, 2**32), st.lists(st.tuples(ACTIONS, ACTIONS), max_size=80))
def test_swapped_sides_play_the_mirrored_rally(seed: int, actions: list[tuple[int, int]]) -> None:
    first = Rally.served(np.random.default_rng(seed))
    one, other = first, first.mirrored()
    for left, right in actions:
        one, other = one.play(left, right), other.play(right, left)
        assert other == one.mirrored()
        np.testing.assert_array_equal(one.seen_by(0), other.seen_by(1))
        np.testing.assert_array_equal(one.seen_by(1), other.seen_by(0))


def test_everybody_sees_itself_at_the_left() -> None:
    seen = rally((0.5, 0.25), (TOP_SPEED, STEEPEST), left=0.1, right=-0.3)
    np.testing.assert_allclose(seen.seen_by(0), [0.1, -0.3, 0.5, 0.25, 1, 1], rtol=1e-6)
    np.testing.assert_allclose(seen.seen_by(1), [-0.3, 0.1, -0.5, 0.25, -1, 1], rtol=1e-6)


def test_serves_go_to_both_sides_and_all_heights() -> None:
    rng = np.random.default_rng(1)
    velocities = np.array([Rally.served(rng).velocity for _ in range(1000)])
    assert abs((velocities[:, 0] > 0).mean() - 0.5) < 0.08  # Five deviations.
    assert np.abs(velocities[:, 0]) == pytest.approx(SERVE_SPEED)
    assert velocities[:, 1].min() < -0.9 * SERVE_SPEED
    assert velocities[:, 1].max() > 0.9 * SERVE_SPEED
