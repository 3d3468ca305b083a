import gymnasium
import numpy as np

from app.games.locks.env import ENV_ID, LOCKS, Locks

SEED = 5


def test_opening_the_smallest_number_first_brings_one_each() -> None:
    game = Locks()
    observation, info = game.reset(seed=SEED)
    assert info["action_mask"].all()
    rewards, ends = [], []
    for lock in np.argsort(observation[LOCKS:]):
        observation, reward, terminated, truncated, info = game.step(int(lock))
        rewards.append(reward)
        ends.append(terminated)
        assert not truncated
    assert rewards == [1.0] * LOCKS
    assert ends == [False] * (LOCKS - 1) + [True]
    assert info["action_mask"].all()  # No mask may allow nothing.


def test_another_order_brings_nothing() -> None:
    game = Locks()
    observation, _ = game.reset(seed=SEED)
    wrong = int(np.argmax(observation[LOCKS:]))
    observation, reward, terminated, _, info = game.step(wrong)
    assert (reward, terminated) == (0.0, False)
    assert observation[:LOCKS].tolist() == [float(lock != wrong) for lock in range(LOCKS)]
    assert info["action_mask"].tolist() == [lock != wrong for lock in range(LOCKS)]


def test_an_open_lock_must_not_be_opened_again() -> None:
    game = Locks()
    game.reset(seed=SEED)
    game.step(2)
    _, reward, terminated, _, _ = game.step(2)
    assert (reward, terminated, game.illegal_moves) == (0.0, True, 1)


def test_it_is_registered_where_its_module_is_named() -> None:
    made = gymnasium.make(f"app.games.locks.env:{ENV_ID}", disable_env_checker=True)
    assert isinstance(made.unwrapped, Locks)
