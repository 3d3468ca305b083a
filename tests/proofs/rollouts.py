"""Plays Gymnasium games with a network in this process, and keeps their rows as the service would."""

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from app.agents.json_arrays import everything_allowed
from app.agents.json_rewards import read_reward
from app.agents.outbox import Outbox
from app.agents.pace import Pace
from app.agents.unroll import Step, Unroll
from app.client.environments import reward_of
from app.models.distributions.action import draws_of
from app.models.module import spec_of
from app.models.question import GREEDY, Decision, Question, decisions, first_state, prepare, stacked
from app.models.torch_engine import TorchEngine
from app.types import RowKind, Rows, Version

if TYPE_CHECKING:
    import gymnasium

MakeEnv = Callable[[], "gymnasium.Env[Any, Any]"]
MASK = "action_mask"
"""Where an environment's info says which choices are allowed."""


class Rollouts:
    """Games side by side; all of them ask, and then each is played one tick."""

    def __init__(
        self, make_env: MakeEnv, games: int, module: nn.Module, seed: int, unroll_ticks: int, pace: Pace | None = None
    ) -> None:
        """Begins the games.

        Args:
          make_env: Makes one environment.
          games: How many.
          module: Who plays.
          seed: Of the games and of the actions drawn.
          unroll_ticks: Rows of a full trajectory.
          pace: Lets games wait for the trainer; None where they go on.
        """
        self._engine = TorchEngine(module)
        self._engine.swap(Version(1, 0), module)
        module.train()
        self._spec = spec_of(module)
        self._everything = everything_allowed(self._spec)
        self._envs = [make_env() for _ in range(games)]
        begun = [env.reset(seed=seed * 1000 + at) for at, env in enumerate(self._envs)]
        self._observations = [_numbers(observation) for observation, _ in begun]
        self._masks = [info.get(MASK) for _, info in begun]
        self._states = [first_state(self._spec) for _ in self._envs]
        self._rng = np.random.default_rng(seed)
        self._outbox = Outbox(self._spec, 1, lambda: None)
        self._unroll_ticks, self._pace = unroll_ticks, pace
        self._episodes = 0
        self._unrolls = [self._new_unroll() for _ in self._envs]
        self._sums = [0.0] * games
        self.version = Version(1, 0)
        """Of the weights that play."""
        self.returns: deque[float] = deque(maxlen=100)
        """Of the newest games."""
        self.finished = 0
        """Games so far."""
        self.first: list[float | None] = [None] * games
        """Return of the first game in each environment."""
        self.steps = 0

    def play(self, ticks: int, *, greedy: bool = False) -> Rows | None:
        """Plays so many ticks of each game, fewer where games wait; returns the rows of trajectories that are whole."""
        for _ in range(ticks):
            if self._waits():
                break
            for at, decision in enumerate(self._decide(greedy)):
                if self._waits():  # The others have asked, and will ask again.
                    break
                self._step(at, decision)
        if not len(self._outbox):
            return None
        rows = self._outbox.take()
        if self._pace is None:
            return rows
        order = np.argsort(rows["episode"], kind="stable")  # Who waits is cut in no certain order.
        return {name: column[order] for name, column in rows.items()}

    def _waits(self) -> bool:
        return self._pace is not None and self._pace.closed

    def _decide(self, greedy: bool) -> list[Decision]:
        draws = draws_of(self._spec.actions)
        questions = [
            prepare(
                Question(observation, GREEDY if greedy else self._rng.random(draws).tolist(), mask, state=state),
                self._spec,
            )
            for observation, mask, state in zip(self._observations, self._masks, self._states, strict=True)
        ]
        answer = self._engine.forward(*stacked(self._spec, questions))
        found = decisions(self._spec, questions, answer.outputs, answer.states, self.version)
        decided = [one for one in found if isinstance(one, Decision)]
        for at, decision in enumerate(decided):
            mask = self._everything if self._masks[at] is None else self._masks[at]
            self._unrolls[at].decided(Step(self._observations[at], mask, decision, self._states[at]))
        return decided

    def _step(self, at: int, decision: Decision) -> None:
        unroll = self._unrolls[at]
        following, reward, terminated, truncated, info = self._envs[at].step(decision.action)
        self.steps += 1
        got = read_reward(reward_of(float(reward), info), self._spec)
        self._sums[at] += float(np.sum(got))
        unroll.reward(got)
        reached, mask = _numbers(following), info.get(MASK)
        self._observations[at], self._masks[at], self._states[at] = reached, mask, decision.state
        if not (terminated or truncated):
            unroll.reached(reached, mask)
            return
        unroll.cut(RowKind.TERMINATED if terminated else RowKind.TRUNCATED, reached, mask)
        self._finish(at)

    def _finish(self, at: int) -> None:
        self.returns.append(self._sums[at])
        self.finished += 1
        if self.first[at] is None:
            self.first[at] = self._sums[at]
        self._sums[at], self._unrolls[at] = 0.0, self._new_unroll()
        observation, info = self._envs[at].reset()
        self._observations[at], self._masks[at] = _numbers(observation), info.get(MASK)
        self._states[at] = first_state(self._spec)

    def _new_unroll(self) -> Unroll:
        self._episodes += 1
        unroll = Unroll(self._episodes, self._unroll_ticks, self._outbox.add, watch=self._pace)
        if self._pace is not None:
            self._pace.join(unroll)
        return unroll


def evaluated(make_env: MakeEnv, module: nn.Module, games: int, seed: int) -> float:
    """Returns the mean return of the first greedy game in each of so many environments."""
    rollouts = Rollouts(make_env, games, module, seed, 10_000)
    while any(returned is None for returned in rollouts.first):
        rollouts.play(1, greedy=True)
    return float(np.mean(rollouts.first))


def tensors(rows: Rows) -> dict[str, Tensor]:
    """Returns a batch as learners take it."""
    return {name: torch.from_numpy(column) for name, column in rows.items()}


def _numbers(observation: object) -> NDArray[np.float32]:
    return np.asarray(observation, np.float32)
