"""A game server: it holds the rules, and asks for each move. Yours does the same, in any language.

``python -m mygame.core http://127.0.0.1:36390 5`` plays five games.
"""

import sys

from app.client.sync import Client

from mygame.game import Apples


def play(client: Client, seed: int) -> float:
    """Returns what one game brought."""
    game, reward, total, over = Apples(), 0.0, 0.0, False
    observation, _ = game.reset(seed=seed)
    with client.start(game=f"core-{seed}") as session:
        while not over:
            answer = session.tick({"observation": observation.tolist(), "reward": reward})
            observation, reward, over, _, _ = game.step(answer.value["action"])
            total += reward
        session.stop({"observation": observation.tolist(), "reward": reward, "terminated": True})
    return total


if __name__ == "__main__":
    url, games = sys.argv[1], int(sys.argv[2])
    with Client(url, purpose="play") as service:
        print("mean return", round(sum(play(service, seed) for seed in range(games)) / games, 2))  # noqa: T201
