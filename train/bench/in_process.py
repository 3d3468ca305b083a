"""The limit of ``solve``: the same PPO on the same game in one process, without service, cluster or HTTP."""

import time
from collections import deque
from dataclasses import dataclass, field
from functools import partial

import gymnasium
import numpy as np
import torch
from numpy.typing import NDArray

from app.agents.json_arrays import everything_allowed
from app.agents.outbox import Outbox
from app.agents.unroll import Step, Unroll
from app.config.root import ExperimentConfig
from app.models.distributions.action import act, draws_of
from app.models.module import build_module, spec_of
from app.models.question import Decision
from app.models.torch_engine import TorchEngine
from app.replay.fifo import Fifo
from app.seeding import derive
from app.types import RowKind, Version
from train.learning import make_learner
from train.strategies.build import wrap
from train.strategies.strategy import Place


@dataclass(slots=True)
class Limit:
    """What the plain loop took."""

    solved: bool
    seconds: float
    env_steps: int
    returns: deque[float] = field(default_factory=deque)


class PlainLoop:
    """Plays and learns by turns; the same network, rows, batches and loss as in the ring."""

    def __init__(self, config: ExperimentConfig) -> None:
        if config.launch is None:
            raise ValueError("the config has no launch section")
        trainer = next(iter(config.trainers.values()))
        model = config.models[trainer.model]
        self._launch, self._seed = config.launch, config.run.seed
        self._rows = trainer.inputs[0].batch_rows
        self._unroll_ticks = next(iter(config.actors.values())).unroll_ticks
        module = build_module(model.factory, model.kwargs, self._seed)
        self._learner = wrap(trainer, module, Place()).learner(
            partial(make_learner, trainer.inputs[0], spec_of(module))
        )
        self._engine = TorchEngine(module)
        self._engine.swap(Version(1, 0), module)
        self._outbox = Outbox(spec_of(module), self._rows, lambda: None)
        self._fifo = Fifo(2 * self._rows, self._rows)
        self._rng = np.random.default_rng(self._seed)
        self._spec = spec_of(module)
        self._everything = everything_allowed(self._spec)
        self._updates = self._steps = self._episodes = 0

    def run(self, limit_s: float) -> Limit:
        """Plays until the mean of the newest training games reaches the goal, or time is over."""
        torch.set_num_threads(1)
        started_s = time.monotonic()
        goal, games = self._launch.goal, self._launch.simulator.games
        envs = gymnasium.make_vec(self._launch.simulator.env, num_envs=games)
        observations, _ = envs.reset(seed=self._seed)
        unrolls = [self._new_unroll() for _ in range(games)]
        sums, over = np.zeros(games), np.zeros(games, bool)
        newest: deque[float] = deque(maxlen=goal.training_games)
        while time.monotonic() - started_s < limit_s:
            decisions = self._decide(observations)
            following, rewards, terminated, truncated, _ = envs.step(np.array([d.action for d in decisions]))
            for i in np.flatnonzero(~over):
                self._note(unrolls[i], observations[i], decisions[i], float(rewards[i]), following[i])
                sums[i] += rewards[i]
                if terminated[i] or truncated[i]:
                    unrolls[i].cut(RowKind.TERMINATED if terminated[i] else RowKind.TRUNCATED, following[i])
                    newest.append(float(sums[i]))
                    unrolls[i], sums[i] = self._new_unroll(), 0.0
            observations, over = following, terminated | truncated  # The step after an end only resets.
            self._learn()
            if len(newest) == goal.training_games and sum(newest) >= goal.mean_return * len(newest):
                return Limit(True, time.monotonic() - started_s, self._steps, newest)
        return Limit(False, time.monotonic() - started_s, self._steps, newest)

    def _decide(self, observations: NDArray[np.float32]) -> list[Decision]:
        *dist_inputs, value = self._engine.forward([observations]).outputs
        uniforms = self._rng.random((len(observations), draws_of(self._spec.actions)))
        acted = act(self._spec.actions, [np.asarray(x, np.float32) for x in dist_inputs], uniforms, [None])
        version = Version(1, self._updates)
        rows = zip(acted.actions[0].tolist(), acted.log_probs.tolist(), value.tolist(), strict=True)
        return [Decision(action, log_prob, value, version) for action, log_prob, value in rows]

    def _note(
        self,
        unroll: Unroll,
        observation: NDArray[np.float32],
        decision: Decision,
        reward: float,
        following: NDArray[np.float32],
    ) -> None:
        self._steps += 1
        unroll.decided(Step(observation, self._everything, decision))
        unroll.reward(reward)
        unroll.reached(following)

    def _learn(self) -> None:
        if len(self._outbox):
            self._fifo.insert(self._outbox.take())
        batch = self._fifo.pop(self._rows)
        if batch is None:
            return
        shuffle = torch.Generator().manual_seed(derive(self._seed, 0, self._updates))
        self._learner.update({name: torch.from_numpy(column) for name, column in batch.items()}, shuffle)
        self._updates += 1

    def _new_unroll(self) -> Unroll:
        self._episodes += 1
        return Unroll(self._episodes, self._unroll_ticks, self._outbox.add)
