"""The evolution of a model: populations play, the weights move, evaluations say how good they are."""

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, Protocol

from app.config.active import active
from app.config.evolution import EvolutionConfig
from app.config.root import ExperimentConfig
from app.errors import ConfigError
from app.models.module import build_module, hash_of
from app.replay.ancestry import NO_ANCESTRY
from train.beginning import Saved, move_aside, plan_of
from train.evolution.evolved import Evolved
from train.evolution.play import Job, Played, Share
from train.evolution.population import evaluation, pairs, population, population_metrics, returns_of
from train.saving import Saving, SavingArgs

NAME: Final = "evolution"
"""Folder of its checkpoints among those of the trial's trainers."""

Log = Callable[[int, Mapping[str, float]], None]
"""Takes the number of updates, and metrics."""


class Plays(Protocol):
    """Whatever plays shares, in this process or in many."""

    def play(self, job: Job, shares: Sequence[Share]) -> list[Played]:
        """Returns what came of each share, in their order.

        Raises:
          TrainingError: A share cannot be played.
        """


@dataclass(frozen=True, slots=True)
class EvolutionResult:
    """The last line of ``sparring evolve``, as JSON."""

    solved: bool | None
    """Whether the last evaluation reached the goal; None without a goal."""
    updates: int
    games: int
    """Games of this start, evaluations included."""
    ticks: int
    """Ticks of these games."""
    mean_return: float
    """Of the last evaluation's games."""
    min_return: float
    checkpoint: str
    """Folder of the last checkpoint."""

    def as_dict(self) -> dict[str, object]:
        """Returns the result as plain values."""
        return asdict(self)


class EvolutionRun:
    """One start, from the first population to the last checkpoint."""

    def __init__(self, config: ExperimentConfig, home: Path, plays: Plays, log: Log, restore: str | None, now_s: float):
        """Builds the network and finds what it begins with; older checkpoints are moved aside where they are to be.

        Args:
          config: With an evolution section.
          home: State root of the project.
          plays: Plays the population's games.
          log: Takes metrics.
          restore: What to start from: ``latest``, a number of updates, or the name of a model; None does as the
            config says.
          now_s: Unix time.

        Raises:
          ConfigError: There is no evolution section, or its model is no policy.
          CheckpointError: There is nothing to start from, or what is there is refused.
          TrackingError: The config names a registered version that MLflow does not have.
        """
        self._settings = settings_of(config)
        self._seed, self._plays, self._log = config.run.seed, plays, log
        self._model = active(config).models[self._settings.model]
        saved = Saved(NAME, NAME, self._settings.model, self._settings.checkpoints)
        begins = plan_of(config, saved, home, restore)
        if begins.move_aside:
            move_aside(begins.checkpoints, now_s)
        self._run = uuid.uuid4().hex
        self._saving = Saving(
            self._settings.checkpoints, SavingArgs(str(begins.checkpoints), begins.beginning, self._run)
        )
        module = build_module(self._model.factory, self._model.kwargs, self._seed)
        begun = self._saving.begin(module, hash_of(module), self._model.factory)
        self._evolved = Evolved(self._settings, module)
        if begun is not None:
            self._evolved.go_on(begun)
        self._generation = self._saving.newest_generation() + 1
        self._ancestry = NO_ANCESTRY if begun is None else begun.ancestry_of(self._generation)
        self._games = self._ticks = 0
        self._measured: dict[str, float] = {}
        self._evaluated: list[float] = []
        self._saved: Path | None = None

    @property
    def updates(self) -> int:
        """Updates done, those before this start included."""
        return self._evolved.updates

    def run(self) -> EvolutionResult:
        """Returns what came of it, at the goal or after all updates; whatever ends it, what it has learned is saved.

        Raises:
          SparringError: A task failed, or the last checkpoint cannot be written.
        """
        try:
            while self.updates < self._settings.max_updates and not self._solved():
                self._update()
            if not self._evaluated:  # Nothing was left to learn.
                self._evaluate()
        finally:
            saved = self._save()
        returns, goal = self._evaluated, self._settings.goal
        return EvolutionResult(
            solved=None if goal is None else self._solved(),
            updates=self.updates,
            games=self._games,
            ticks=self._ticks,
            mean_return=sum(returns) / len(returns),
            min_return=min(returns),
            checkpoint=str(saved),
        )

    def _update(self) -> None:
        shares = population(self._settings, self._seed, self.updates)
        found = pairs(shares, self._play(shares))
        metrics = population_metrics(found) | self._evolved.update(found)
        self._saved = None
        if self.updates % self._settings.evaluation.every_updates == 0 or self.updates == self._settings.max_updates:
            metrics |= self._evaluate()
        self._measured = metrics | {"env_ticks": float(self._ticks), "episodes": float(self._games)}
        self._log(self.updates, self._measured)
        if self._saving.due(self.updates):
            self._save()

    def _evaluate(self) -> dict[str, float]:
        self._evaluated = returns_of(self._play(evaluation(self._settings)))
        mean = sum(self._evaluated) / len(self._evaluated)
        return {"eval_return_mean": mean, "eval_return_min": min(self._evaluated)}

    def _play(self, shares: Sequence[Share]) -> list[Played]:
        settings = self._settings
        job = Job(self._model.factory, self._model.kwargs, self._evolved.arrays(), settings.env, settings.episode_ticks)
        played = self._plays.play(job, shares)
        self._games += len(returns_of(played))
        self._ticks += sum(one.ticks for one in played)
        return played

    def _solved(self) -> bool:
        goal, returns = self._settings.goal, self._evaluated
        return goal is not None and bool(returns) and sum(returns) >= goal * len(returns)

    def _save(self) -> Path:
        """Writes a checkpoint of the present weights, where there is none, and returns its folder."""
        if self._saved is None:
            state = self._evolved.state(self._model, self._run, self._generation, self._ancestry, self._measured)
            self._saved = self._saving.save(state)
        return self._saved


def settings_of(config: ExperimentConfig) -> EvolutionConfig:
    """Returns the evolution section of a config.

    Raises:
      ConfigError: There is none, or the config's mode trains nothing.
    """
    if config.evolution is None:
        raise ConfigError("the config has no evolution section: it needs evolution.model and evolution.env")
    if config.run.mode != "train":
        raise ConfigError(f"run.mode is {config.run.mode}, which trains nothing; allowed is train")
    return config.evolution
