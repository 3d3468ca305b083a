"""One learner worker, from the first batch to the last checkpoint."""

import logging
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import ray
import ray.train
import ray.train.torch
import torch

from app.config.active import agents_of
from app.errors import CheckpointError
from app.metrics import names
from app.metrics.here import PROCESS
from app.models.module import build_module, hash_of
from app.seeding import derive
from app.stores.metrics_values import Update
from app.stores.trial import Trial
from app.stores.weights_client import Weights
from train.charts import Charts, open_charts
from train.checkpoint import LearnerState
from train.checks import TrainerChecks
from train.inputs import open_input
from train.league.following import Period
from train.league.pupil import Pupil
from train.learners import Given
from train.loop_args import LoopArgs
from train.publish import Publisher
from train.random_state import seed_generators
from train.saving import MEAN_RETURN, Saving
from train.strategies.processes import Processes
from train.strategies.strategy import Place
from train.streams import Arrived, Streams
from train.tables import open_tables
from train.teachers import load_teachers
from train.trainee import Trainee
from train.update_report import UpdateReport
from train.utilisation import Utilisation

if TYPE_CHECKING:
    from app.config.training import TrainerConfig

_log = logging.getLogger(__name__)


class Worker:
    """One data-parallel learner worker; rank 0 also publishes and saves."""

    def __init__(self, args: LoopArgs) -> None:
        self._args = args
        self._config: TrainerConfig = args.config.trainers[args.trainer]
        context = ray.train.get_context()
        self._rank, self._workers = context.get_world_rank(), context.get_world_size()
        trial = Trial(args.namespace)
        self._metrics = trial.metrics
        self._model = args.config.models[self._config.model]
        self._module = build_module(self._model.factory, self._model.kwargs, args.config.run.seed)
        self._hash = hash_of(self._module)
        self._saving = Saving(self._config.checkpoints, args.saving)
        begun = self._saving.begin(self._module, self._hash, self._model.factory)
        self._processes = Processes(self._rank, self._workers)
        device = ray.train.torch.get_device()
        place = Place(self._rank, self._workers, device, self._processes.reduce_sum)
        seed_generators(derive(args.config.run.seed, self._rank))
        teachers = load_teachers(args.teachers)
        self._trainee = Trainee(args.config, self._config, self._module, place, self._processes, teachers)
        spec, wanted = self._trainee.spec, self._config.inputs
        self._inputs = [open_input(args.config, args.trainer, at, trial, spec) for at in range(len(wanted))]
        self._streams = Streams(self._inputs, [one.weight for one in wanted], self._config.mixing, self._processes)
        self._updates = 0 if begun is None else begun.updates
        checks = TrainerChecks(args.config, args.trainer, spec, trial.alarms)
        self._tables = open_tables(args.config, self._config, trial, Path(args.saving.folder))
        if begun is not None:
            self._trainee.go_on(begun.progress)
            self._streams.go_on(begun.positions)
            if self._rank == 0:  # Before any worker asks for a batch: rounds begin when all have joined.
                self._tables.restore(self._saving.begun_in, begun)
        weights = trial.weights(self._config.model)
        self._publisher = Publisher(weights, trial.metrics, args.trainer, self._processes, self._inputs)
        opened = self._publisher.open(self._hash, self._saving.newest_generation())
        if begun is not None:
            self._publisher.ancestry = begun.ancestry_of(opened.generation)
        self._pupil = self._opened_pupil(trial, weights, begun)
        self._charts = self._opened_charts(trial)
        self._utilisation = Utilisation()
        PROCESS.series_max = args.config.metrics.series_max
        self._busy = PROCESS.series(names.LEARNER_BUSY, trainer=args.trainer, worker=str(self._rank))
        self._told = UpdateReport(self._inputs, self._publisher, checks, (self._streams.gauges, self._tables.gauges))

    def _opened_pupil(self, trial: Trial, weights: Weights, begun: LearnerState | None) -> Pupil | None:
        """Returns what follows the league; None where none of its players is this trainer's."""
        league, name = self._args.config.league, self._args.trainer
        if league is None or all(player.trainer != name for player in league.players.values()):
            return None
        period = Period() if begun is None else begun.period
        pupil = Pupil(self._args.config, name, trial.league(), weights, self._processes, period)
        pupil.begin(self._trainee)
        return pupil

    def _opened_charts(self, trial: Trial) -> Charts | None:
        """Returns what shows histograms and images; None on the other workers, and where the config asks for none."""
        tracking, run = self._args.config.tracking, self._args.config.run
        if self._rank != 0 or not tracking.tensorboard:
            return None
        folder = Path(trial.directory.info().home) / run.trial
        return open_charts(tracking.charts, folder, self._args.trainer, self._module, self._trainee.spec)

    def run(self) -> None:
        """Learns from each batch of the stream, publishes between updates, and saves at the end."""
        for turn in self._streams:
            if self._publisher.version.number < 0:
                self._begin()
            self._utilisation.waited(sum(arrived.waited_s for arrived in turn))
            if not turn[0].starving:
                self._learn(turn)
            for arrived in turn:
                self._streams.release(arrived)
            self._follow_league()  # Also where nothing could be learned: the rows may be of whom the league wants next.
            if self._config.max_updates is not None and self._updates >= self._config.max_updates:
                break
        self._finish()

    def tell(self) -> None:
        """Takes down how much of the time since the last call was spent learning; from another thread."""
        self._busy.add(self._utilisation.take())

    def _begin(self) -> None:
        """Publishes the first weights: the stream has shown with its first batch that it is up."""
        self._publish_taken()
        self._publisher.report(Update(self._updates, time.time(), self._period_metrics()))

    def _learn(self, turn: Sequence[Arrived]) -> None:
        started_s = time.monotonic()
        fresh = [self._told.freshened(arrived) for arrived in turn]
        seeds = [derive(self._args.config.run.seed, self._rank, self._updates, arrived.at) for arrived in turn]
        given = [
            Given(arrived.at, arrived.batch, torch.Generator().manual_seed(seed))
            for arrived, seed in zip(turn, seeds, strict=True)
        ]
        learned = self._trainee.learners.update(given)
        for arrived, one in zip(turn, learned, strict=True):
            if one.priorities is not None:
                self._inputs[arrived.at].update_priorities(arrived.batch, one.priorities)
        if not any(one.metrics for one in learned):
            _log.warning("a batch held no row of this generation within the lag bound; nothing was learned")
            return
        self._updates += 1
        if self._pupil is not None:
            self._pupil.period.updates += 1
        measured = self._evaluated()
        if self._updates % self._config.publish_every_updates == 0:
            self._publish()
        if self._rank == 0:
            measured |= {"update_s": time.monotonic() - started_s} | self._period_metrics()
            self._told.send(self._updates, turn, fresh, learned, measured)
        self._told.clear()
        if self._charts is not None:
            self._charts.show(self._updates, turn[0].batch)
        self._save_if_due()

    def _evaluated(self) -> dict[str, float]:
        """Returns the losses on rows that were set aside, where it is time for that."""
        settings = self._config.evaluation
        if settings is None or self._updates % settings.every_updates:
            return {}
        device = ray.train.torch.get_device()
        return {name: value for one in self._trainee.held_out for name, value in one.measure(device).items()}

    def _publish(self) -> None:
        weights = self._trainee.trained.weights()
        if self._rank == 0:
            self._told.checks.weights(self._updates, weights)
        self._publisher.publish(weights)

    def _follow_league(self) -> None:
        """Goes over to another learning period where the league wants one, all workers between the same updates."""
        if self._pupil is None or not self._pupil.follow(self._trainee):
            return
        self._publisher.open(self._hash, 0)  # The rows under way are of a policy that this one has nothing to do with.
        self._publish_taken()

    def _publish_taken(self) -> None:
        """Publishes, and where the league wanted these weights tells it so: games play them from then on."""
        self._publish()
        if self._pupil is not None and self._pupil.took:
            self._publisher.settle()
            self._pupil.published()

    def _period_metrics(self) -> dict[str, float]:
        return {} if self._pupil is None else self._pupil.period.metrics()

    def _finish(self) -> None:
        state = self._state()
        if state is not None:
            self._tables.save(self._saving.save(state), last=True)
            self._publisher.settle()
            self._streams.finish()
        self._streams.settle()
        self._tables.settle()
        if self._charts is not None:
            self._charts.close()

    def _save_if_due(self) -> None:
        if not (self._trainee.trained.may_save() and self._processes.agree(lambda: self._saving.due(self._updates))):
            return
        state = self._state()
        if state is None:
            return
        try:
            self._tables.save(self._saving.save(state))
        except CheckpointError as error:  # What is in memory would be lost by stopping; the last save must succeed.
            _log.error("%s", error)  # The message says it all.

    def _state(self) -> LearnerState | None:
        """Returns what training goes on from, on rank 0; the other workers add their parts and get None."""
        progress = self._trainee.progress()
        positions = self._streams.positions()
        if progress is None or positions is None:
            return None
        return LearnerState(
            progress,
            self._updates,
            self._publisher.version.generation,
            self._hash,
            self._args.run,
            number=max(0, self._publisher.version.number),
            factory=self._model.factory,
            kwargs=self._model.kwargs,
            metrics=self._measures(),
            positions=positions,
            ancestry=self._publisher.ancestry,
            period=Period() if self._pupil is None else self._pupil.period,
        )

    def _measures(self) -> Mapping[str, float]:
        """Returns what checkpoints are compared by: metrics of the newest update, and the mean return if it counts."""
        best = self._config.checkpoints.keep.best
        if best is None or best.metric != MEAN_RETURN:
            return self._told.measured
        agents = agents_of(self._args.config, self._config.model)
        returned = self._metrics.progress(best.games, self._args.trainer, agents).mean_return
        return self._told.measured if returned is None else {**self._told.measured, MEAN_RETURN: returned}
