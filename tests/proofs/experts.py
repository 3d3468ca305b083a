"""Who plays CartPole without having learned it, and what may be learned from that."""

from collections.abc import Callable, Iterator

import gymnasium
import numpy as np
from numpy.typing import NDArray

from app.agents.json_arrays import everything_allowed
from app.agents.outbox import Outbox
from app.agents.unroll import Step, Unroll
from app.models.question import Decision
from app.models.spec import ModelSpec
from app.types import RowKind, Rows, Version

Plays = Callable[[NDArray[np.float32]], int]


def balances(observation: NDArray[np.float32]) -> int:
    """Returns the push that keeps CartPole's pole up and its cart in the middle: a linear controller, for 500 ticks."""
    return int(float(observation @ np.array([0.3, 0.6, 10.0, 2.5])) > 0)


class Wanders:
    """Pushes at random, and each push lasts some ticks, so that most of them are wrong where the pole leans."""

    def __init__(self, seed: int, changes: float = 0.25) -> None:
        self._rng, self._changes = np.random.default_rng(seed), changes
        self._push = 0

    def __call__(self, observation: NDArray[np.float32]) -> int:
        if self._rng.random() < self._changes:
            self._push = int(self._rng.integers(2))
        return self._push


class Demonstrations:
    """Games of CartPole for a source: states, and what was done; nothing was paid."""

    def __init__(self, games: int, seed: int) -> None:
        self._games, self._seed = games, seed

    def __iter__(self) -> Iterator[dict[str, object]]:
        """Yields a game each."""
        env = gymnasium.make("CartPole-v1")
        for game in range(self._games):
            observation, _ = env.reset(seed=self._seed * 1000 + game)
            states, actions, over = [observation], [], False
            while not over:
                actions.append(balances(states[-1]))
                observation, _, terminated, truncated, _ = env.step(actions[-1])
                states.append(observation)
                over = terminated or truncated
            yield {
                "observation": np.array(states),
                "action": np.array(actions),
                "reward": np.zeros(len(actions)),
                "truncated": True,
            }


def recorded(spec: ModelSpec, plays: Plays, games: int, seed: int) -> tuple[Rows, list[float]]:
    """Returns games of CartPole as rows, and their returns."""
    env = gymnasium.make("CartPole-v1")
    outbox = Outbox(spec, 1, lambda: None)
    allowed = everything_allowed(spec)
    returns = []
    for game in range(games):
        unroll = Unroll(game, None, outbox.add)
        observation, _ = env.reset(seed=seed * 1000 + game)
        total, over = 0.0, False
        while not over:
            action = plays(observation)
            unroll.decided(Step(observation, allowed, Decision(action, 0.0, 0.0, Version(1, 0))))
            observation, reward, terminated, truncated, _ = env.step(action)
            unroll.reward(float(reward))
            total += float(reward)
            over = terminated or truncated
        unroll.cut(RowKind.TERMINATED if terminated else RowKind.TRUNCATED, observation)
        returns.append(total)
    return outbox.take(), returns
