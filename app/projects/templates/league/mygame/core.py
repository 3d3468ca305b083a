"""A game server: it holds the rules, and asks for the moves of both sides. Yours does the same, in any language.

``python -m mygame.core http://127.0.0.1:36390 5`` plays five games, the model at the left against the script.
"""

import sys

from app.client.sync import Client

from mygame.game import Apples

SIDES = {"left": "player", "right": "script"}


def play(client: Client, seed: int) -> float:
    """Returns what one game brought to the left side."""
    game, total = Apples(), 0.0
    seen, _ = game.reset(seed=seed)
    rewards = dict.fromkeys(SIDES, 0.0)
    sessions = {side: client.start(game=f"core-{seed}", agent=agent) for side, agent in SIDES.items()}
    while game.agents:
        actions = {}
        for side, session in sessions.items():
            answer = session.tick({"observation": seen[side].tolist(), "reward": rewards[side]})
            actions[side] = answer.value["action"]
        seen, rewards, *_ = game.step(actions)
        total += rewards["left"]
    for side, session in sessions.items():
        session.stop({"observation": seen[side].tolist(), "reward": rewards[side], "terminated": True})
    return total


if __name__ == "__main__":
    url, games = sys.argv[1], int(sys.argv[2])
    with Client(url, purpose="play") as service:
        print("mean return", round(sum(play(service, seed) for seed in range(games)) / games, 2))  # noqa: T201
