"""Games and learner of a config in one process, without service, cluster or HTTP: for searches, and as a limit."""

import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import gymnasium
import numpy as np
import torch
from numpy.typing import NDArray

from app.agents.json_arrays import everything_allowed
from app.agents.outbox import Outbox
from app.agents.unroll import Step, Unroll
from app.config.algorithms import CustomAlgorithm, learns_from_transitions
from app.config.from_trajectories import Online
from app.config.root import ExperimentConfig
from app.config.training import TrainerConfig
from app.config.trust_region import Trpo
from app.errors import CheckpointError, ConfigError
from app.models.distributions.action import act, draws_of
from app.models.module import build_module, hash_of, spec_of
from app.models.question import Decision
from app.models.torch_engine import TorchEngine
from app.replay.fifo import Fifo
from app.seeding import derive
from app.types import RowKind, Version
from train.adversaries import load_adversaries
from train.checkpoint import LearnerState
from train.learners import Learners
from train.learning import make_learner
from train.resume import go_on, progress_of
from train.strategies.build import wrap
from train.strategies.processes import Processes
from train.strategies.strategy import Place

SEEDS: Final = 2**31
"""Games take seeds below it."""


@dataclass(slots=True)
class Limit:
    """What the plain loop took."""

    solved: bool
    seconds: float
    env_steps: int
    returns: deque[float] = field(default_factory=deque)


class PlainLoop:
    """Plays and learns by turns; the same network, rows, batches and loss as in the ring."""

    def __init__(self, config: ExperimentConfig, begin: LearnerState | None = None) -> None:
        """Builds network, learner and games.

        Args:
          config: With a launch section.
          begin: What training goes on from, with new games; None begins anew.

        Raises:
          ConfigError: The config has no launch section, or what it describes does not fit one process.
          CheckpointError: What it shall go on from is of another network.
        """
        if config.launch is None:
            raise ConfigError("the config has no launch section: it needs launch.simulator and launch.goal")
        self._trainer = _trainer(config)
        self._model = config.models[self._trainer.model]
        self._launch, self._seed = config.launch, config.run.seed
        self._rows = self._trainer.inputs[0].batch_rows
        self._unroll_ticks = next(iter(config.actors.values())).unroll_ticks
        self._module = build_module(self._model.factory, self._model.kwargs, self._seed)
        self._spec = spec_of(self._module)
        if self._spec.rewards:
            raise ConfigError(
                f"in one process games give one reward, and the model names {', '.join(self._spec.rewards)}; train it "
                "in a ring"
            )
        if begin is not None:
            begin.check(hash_of(self._module))
            self._module.load_state_dict(dict(begin.progress.trained.model))
        self._trained = wrap(self._trainer, self._module, Place())
        adversary = load_adversaries(config, self._trainer, self._spec).get(0)
        make = partial(make_learner, self._trainer.inputs[0], self._spec, adversary=adversary)
        self._learners = Learners([self._trained.learner(make)])
        if begin is not None:
            go_on(begin.progress, self._trained, self._learners, 0)
        self._engine = TorchEngine(self._module)
        self._engine.swap(Version(1, 0), self._module)
        self._outbox = Outbox(self._spec, self._rows, lambda: None)
        self._fifo = Fifo(2 * self._rows, self._rows)
        self._rng = np.random.default_rng(self._seed)
        self._everything = everything_allowed(self._spec)
        self.updates = 0 if begin is None else begin.updates
        self.steps = self.games = self._episodes = 0
        self.newest: deque[float] = deque(maxlen=self._launch.goal.training_games)
        """Returns of the newest finished games."""
        self._envs = gymnasium.make_vec(self._launch.simulator.env, num_envs=self._launch.simulator.games)
        seed = self._seed if begin is None else derive(self._seed, "games", self.updates) % SEEDS
        self._observations, _ = self._envs.reset(seed=seed)
        games = self._launch.simulator.games
        self._unrolls = [self._new_unroll() for _ in range(games)]
        self._sums, self._over = np.zeros(games), np.zeros(games, bool)

    def run(self, limit_s: float) -> Limit:
        """Plays until the mean of the newest training games reaches the goal, or time is over."""
        torch.set_num_threads(1)
        started_s = time.monotonic()
        goal = self._launch.goal
        while time.monotonic() - started_s < limit_s:
            self.frame()
            if len(self.newest) == goal.training_games and sum(self.newest) >= goal.mean_return * len(self.newest):
                return Limit(True, time.monotonic() - started_s, self.steps, self.newest)
        return Limit(False, time.monotonic() - started_s, self.steps, self.newest)

    def frame(self) -> None:
        """Plays one tick of each game, and learns where a batch is full."""
        decisions = self._decide(self._observations)
        following, rewards, terminated, truncated, _ = self._envs.step(np.array([d.action for d in decisions]))
        for i in np.flatnonzero(~self._over):
            self._note(self._unrolls[i], self._observations[i], decisions[i], float(rewards[i]), following[i])
            self._sums[i] += rewards[i]
            if terminated[i] or truncated[i]:
                self._unrolls[i].cut(RowKind.TERMINATED if terminated[i] else RowKind.TRUNCATED, following[i])
                self.newest.append(float(self._sums[i]))
                self.games += 1
                self._unrolls[i], self._sums[i] = self._new_unroll(), 0.0
        self._observations, self._over = following, terminated | truncated  # The step after an end only resets.
        self._learn()

    def state(self, run: str, metrics: Mapping[str, float]) -> LearnerState:
        """Returns all that training goes on from.

        Args:
          run: Whose it is.
          metrics: What it is compared by.

        Raises:
          CheckpointError: It cannot be saved.
        """
        progress = progress_of(self._trained, self._learners, Processes(0, 1))
        if progress is None:
            raise CheckpointError("the only worker of a process has no state")
        return LearnerState(
            progress,
            self.updates,
            1,
            hash_of(self._module),
            run,
            number=self.updates,
            factory=self._model.factory,
            kwargs=self._model.kwargs,
            metrics=metrics,
        )

    def close(self) -> None:
        """Ends the games."""
        self._envs.close()

    def _decide(self, observations: NDArray[np.float32]) -> list[Decision]:
        *dist_inputs, value = self._engine.forward([observations]).outputs
        uniforms = self._rng.random((len(observations), draws_of(self._spec.actions)))
        acted = act(self._spec.actions, [np.asarray(x, np.float32) for x in dist_inputs], uniforms, [None])
        version = Version(1, self.updates)
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
        self.steps += 1
        unroll.decided(Step(observation, self._everything, decision))
        unroll.reward(reward)
        unroll.reached(following)

    def _learn(self) -> None:
        if len(self._outbox):
            self._fifo.insert(self._outbox.take())
        batch = self._fifo.pop(self._rows)
        if batch is None:
            return
        shuffle = torch.Generator().manual_seed(derive(self._seed, 0, self.updates))
        self._learners[0].update({name: torch.from_numpy(column) for name, column in batch.items()}, shuffle)
        self.updates += 1

    def _new_unroll(self) -> Unroll:
        self._episodes += 1
        return Unroll(self._episodes, self._unroll_ticks, self._outbox.add)


def _trainer(config: ExperimentConfig) -> TrainerConfig:
    """Returns the one trainer.

    Raises:
      ConfigError: There are several, it does not learn from its own newest games, or it has a teacher.
    """
    found = list(config.trainers.values())
    if len(found) == 1 and len(found[0].inputs) == 1:
        wanted = found[0].inputs[0]
        algorithm = wanted.algorithm
        if isinstance(algorithm, Online) and algorithm.teacher is not None:
            raise ConfigError("in one process nobody finds a teacher, got algorithm.teacher; allowed there is null")
        is_newest = isinstance(algorithm, Online | Trpo | CustomAlgorithm)
        if wanted.buffer is not None and is_newest and not learns_from_transitions(algorithm):
            return found[0]
    raise ConfigError(
        "in one process there is one trainer with one input, a buffer, and one of ppo, gail, a2c, impala, appo, trpo "
        "and custom; train others in a ring"
    )
