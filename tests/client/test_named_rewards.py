"""Environments with several rewards: what is sent for each step."""

from app.client.environments import reward_of
from app.client.game import Game


def test_named_rewards_of_an_environment_take_the_place_of_its_number() -> None:
    assert reward_of(1.5, {}) == 1.5
    assert reward_of(1.5, {"rewards": {"win": True, "health": 0.5}}) == {"win": 1.0, "health": 0.5}


def test_a_game_reports_named_rewards_once_and_adds_them_up() -> None:
    game = Game("s", 0)
    assert game.tick([0])["body"] == {"observation": [0], "reward": 0.0}
    game.rewarded({"win": 1.0, "health": 0.5}, over=False)
    assert game.tick([1])["body"] == {"observation": [1], "reward": {"win": 1.0, "health": 0.5}}
    game.rewarded({"win": 0.0, "health": -2.0}, over=True)
    ended = game.stop([2], terminated=True, truncated=False)["body"]
    assert ended == {
        "observation": [2], "reward": {"win": 0.0, "health": -2.0}, "terminated": True, "truncated": False
    }  # fmt: skip
    assert game.episode_return == -0.5
