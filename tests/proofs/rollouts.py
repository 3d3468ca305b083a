"""Plays Gymnasium games with a network in this process, and keeps their rows as the service would."""

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from app.agents.json_arrays import everything_allowed
from app.agents.outbox import Outbox
from app.agents.unroll import Step, Unroll
from app.models.module import spec_of
from app.models.question import GREEDY, Decision, Question, decisions, first_state, prepare, stacked
from app.models.torch_engine import TorchEngine
from app.types import RowKind, Rows, Version

if TYPE_CHECKING:
    import gymnasium

MakeEnv = Callable[[], "gymnasium.Env[Any, Any]"]


class Rollouts:
    """Games side by side."""

    def __init__(self, make_env: MakeEnv, games: int, module: nn.Module, seed: int, unroll_ticks: int) -> None:
        self._engine = TorchEngine(module)
        self._engine.swap(Version(1, 0), module)
        module.train()
        self._spec = spec_of(module)
        self._envs = [make_env() for _ in range(games)]
        self._observations = [env.reset(seed=seed * 1000 + at)[0] for at, env in enumerate(self._envs)]
        self._states = [first_state(self._spec) for _ in self._envs]
        self._rng = np.random.default_rng(seed)
        self._outbox = Outbox(self._spec, 1, lambda: None)
        self._unroll_ticks = unroll_ticks
        self._episodes = 0
        self._unrolls = [self._new_unroll() for _ in self._envs]
        self._sums = [0.0] * games
        self._everything = everything_allowed(self._spec)
        self.returns: deque[float] = deque(maxlen=100)
        """Of the newest games."""
        self.finished = 0
        """Games so far."""
        self.first: list[float | None] = [None] * games
        """Return of the first game in each environment."""
        self.steps = 0

    def play(self, ticks: int, *, greedy: bool = False) -> Rows | None:
        """Plays so many ticks of each game; returns the rows of trajectories that are whole, None where none is."""
        for _ in range(ticks):
            for at, decision in enumerate(self._decide(greedy)):
                self._step(at, decision)
        return self._outbox.take() if len(self._outbox) else None

    def _decide(self, greedy: bool) -> list[Decision]:
        questions = [
            prepare(
                Question(
                    np.asarray(observation, np.float32),
                    GREEDY if greedy else self._rng.random(self._spec.draws).tolist(),
                    state=state,
                ),
                self._spec,
            )
            for observation, state in zip(self._observations, self._states, strict=True)
        ]
        answer = self._engine.forward(*stacked(self._spec, questions))
        found = decisions(self._spec, questions, answer.outputs, answer.states, Version(1, 0))
        return [one for one in found if isinstance(one, Decision)]

    def _step(self, at: int, decision: Decision) -> None:
        env, unroll = self._envs[at], self._unrolls[at]
        seen = np.asarray(self._observations[at], np.float32)
        following, reward, terminated, truncated, _ = env.step(decision.action)
        self.steps += 1
        self._sums[at] += float(reward)
        unroll.decided(Step(seen, self._everything, decision, self._states[at]))
        unroll.reward(float(reward))
        reached = np.asarray(following, np.float32)
        self._observations[at], self._states[at] = following, decision.state
        if not (terminated or truncated):
            unroll.reached(reached)
            return
        unroll.cut(RowKind.TERMINATED if terminated else RowKind.TRUNCATED, reached)
        self.returns.append(self._sums[at])
        self.finished += 1
        if self.first[at] is None:
            self.first[at] = self._sums[at]
        self._sums[at], self._unrolls[at] = 0.0, self._new_unroll()
        self._observations[at], self._states[at] = env.reset()[0], first_state(self._spec)

    def _new_unroll(self) -> Unroll:
        self._episodes += 1
        return Unroll(self._episodes, self._unroll_ticks, self._outbox.add)


def evaluated(make_env: MakeEnv, module: nn.Module, games: int, seed: int) -> float:
    """Returns the mean return of the first greedy game in each of so many environments."""
    rollouts = Rollouts(make_env, games, module, seed, 10_000)
    while any(returned is None for returned in rollouts.first):
        rollouts.play(1, greedy=True)
    return float(np.mean(rollouts.first))


def tensors(rows: dict[str, NDArray[Any]]) -> dict[str, Tensor]:
    """Returns a batch as learners take it."""
    return {name: torch.from_numpy(column) for name, column in rows.items()}
