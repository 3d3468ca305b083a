"""Games of an expert to learn from: here those of the script."""

from collections.abc import Iterator
from typing import Any

from mygame.agent import follow
from mygame.game import Apples


class Games:
    """Games of some seeds, the same ones each time that they are gone through."""

    def __init__(self, seeds: range) -> None:
        self.seeds = seeds

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for seed in self.seeds:
            yield played(seed)


def games(shards: int, each: int = 50) -> list[Games]:
    """Returns shards of so many games each."""
    return [Games(range(shard * each, (shard + 1) * each)) for shard in range(shards)]


def played(seed: int) -> dict[str, Any]:
    """Returns one game of the script as columns, a row a step."""
    game, over = Apples(), False
    seen, _ = game.reset(seed=seed)
    observations, actions, rewards = [seen], [], []
    while not over:
        actions.append(follow(seen))
        seen, reward, over, _, _ = game.step(actions[-1])
        observations.append(seen)
        rewards.append(reward)
    return {"observation": observations, "action": actions, "reward": rewards, "terminated": True}
