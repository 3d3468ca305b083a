"""The rules."""

from gymnasium.utils.env_checker import check_env

from mygame.agent import follow
from mygame.game import APPLES, RIGHT, WIDTH, Apples


def test_it_is_a_gymnasium_environment() -> None:
    check_env(Apples(), skip_render_check=True)


def test_who_follows_the_apple_catches_all() -> None:
    game, total, over = Apples(), 0.0, False
    observation, _ = game.reset(seed=1)
    while not over:
        observation, reward, over, _, _ = game.step(follow(observation))
        total += reward
    assert total == APPLES


def test_the_basket_stays_on_the_field() -> None:
    game = Apples()
    game.reset(seed=1)
    for _ in range(2 * WIDTH):
        game.step(RIGHT)
    assert game.basket == WIDTH - 1
