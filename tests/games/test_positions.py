import gymnasium
import numpy as np

from app.games.cartpole.positions import ENV_ID

SEED = 3


def test_positions_are_shown_and_velocities_are_not() -> None:
    shown = gymnasium.make(f"app.games.cartpole.positions:{ENV_ID}", disable_env_checker=True)
    whole = gymnasium.make("CartPole-v1")
    seen, all_of_it = shown.reset(seed=SEED)[0], whole.reset(seed=SEED)[0]
    for action in (1, 0, 1):
        np.testing.assert_array_equal(seen, all_of_it[[0, 2]])
        seen, all_of_it = shown.step(action)[0], whole.step(action)[0]
    assert seen.shape == shown.observation_space.shape == (2,)


def test_a_game_lasts_500_ticks_at_most() -> None:
    made = gymnasium.make(f"app.games.cartpole.positions:{ENV_ID}", disable_env_checker=True)
    assert made.spec is not None
    assert made.spec.max_episode_steps == 500
