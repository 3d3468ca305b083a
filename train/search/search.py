"""Runs the trials of a search under Ray Tune, and finds the best."""

import os
import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from app.config.search import Pbt, SearchConfig, Value
from app.errors import SparringError
from app.home import START_FORMAT, ensure, state_root, trial_root
from app.plugins import load_plugin
from train.launch.background import Background
from train.launch.cluster import Cluster
from train.launch.interrupts import Interruptible
from train.search.plan import SearchPlan
from train.search.result import Candidate, SearchResult

if TYPE_CHECKING:
    from train.search.records import Records
    from train.search.trial import Objective
    from train.search.watch import Watch

SLOT: Final = "search_trial"
"""Resource of the cluster of which each trial takes one: so many train at the same time.

Ray Tune's own bound counts trials that wait for others as well, and would stop a population or HyperBand for ever.
"""
CHECKPOINTS_KEPT: Final = 4
"""Newest checkpoints of a trial that stay."""
LOOK_S: Final = 0.1
"""Seconds between two looks at whatever is waited for."""
HURRY_S: Final = 1.0
"""Longest wait for MLflow when all ends early."""
TUNE_ENV: Final = {
    "RAY_CHDIR_TO_TRIAL_DIR": "0",  # Objectives find their files where the command was started.
    "TUNE_FUNCTION_THREAD_TIMEOUT_S": "120",  # What a trial that is stopped may take to end what it has started.
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",  # MLflow has it all.
    "RAY_AIR_NEW_OUTPUT": "0",  # Else Ray Tune prints tables in spite of being told not to.
    "TUNE_WARN_EXCESSIVE_EXPERIMENT_CHECKPOINT_SYNC_THRESHOLD_S": "0",
}


class SearchError(SparringError):
    """A search has found nothing."""


class Search:
    """One search; everything that it starts ends with it."""

    def __init__(self, plan: SearchPlan, stopper: Interruptible, tell: Callable[[str], None]) -> None:
        """Imports the objective; nothing is started.

        Args:
          plan: What is searched.
          stopper: Knows whether the user has asked to stop.
          tell: Shows a line to the user.

        Raises:
          PluginError: There is no such objective.
        """
        load_plugin(plan.search.objective)
        self._plan = plan
        self._stopper = stopper
        self._tell = tell
        self._records: "Records | None" = None
        self._cluster = Cluster(resources={SLOT: plan.search.concurrent})
        self._started_s = time.time()
        start = time.strftime(START_FORMAT, time.gmtime(self._started_s))
        run = plan.config.run
        self.folder = trial_root(run.project, run.trial) / "search" / start
        """Checkpoints of the trials, and the best config."""
        self.candidates: dict[str, Candidate] = {}
        """Trials that have ended."""

    def run(self) -> SearchResult:
        """Returns what came of it, once all trials have ended.

        Raises:
          SearchError: No trial has reported anything, or it takes too long.
          SparringError: Another part failed; the message is its own.
        """
        self._tell("starting Ray")
        os.environ.update(TUNE_ENV)
        self._cluster.start()
        self._stopper.install()  # Ray has put a SIGTERM handler of its own in place of ours.
        from train.search.records import Records  # noqa: PLC0415
        from train.search.watch import Watch  # noqa: PLC0415

        config, search = self._plan.config, self._plan.search
        records = self._records = Records(config, ensure(state_root(config.run.project)))
        watch = Watch(search, self._plan.config_of, records, self.folder, self._tell)
        self.candidates = watch.candidates
        self._tell(f"{search.trials} trials, {search.concurrent} at a time")
        fitting = Background(lambda: _fit(self._plan, watch, self.folder), "search")
        while not fitting.done():
            self._stopper.check()
            if time.time() - self._started_s > search.limit_s:
                raise SearchError(f"the search did not end in {search.limit_s:g} s; give it more: search.limit_s")
            time.sleep(LOOK_S)
        return self._result(records)

    def close(self) -> None:
        """Ends whatever still runs."""
        if self._records is not None:
            self._records.close("KILLED", HURRY_S)
        self._cluster.close()

    def _result(self, records: "Records") -> SearchResult:
        best = best_of(self.candidates.values(), self._plan.search.mode)
        text = self._plan.best_yaml(best.values)
        path = ensure(self.folder) / "best.yaml"
        path.write_text(text, encoding="utf-8")
        records.best(self._plan.search.metric, best, text)
        records.close("FINISHED")
        endings = [candidate.ending for candidate in self.candidates.values()]
        trials = self._plan.search.trials
        return SearchResult(
            trials=trials,
            finished=endings.count("finished"),
            stopped_early=endings.count("stopped"),
            failed=endings.count("failed") + trials - len(endings),
            copies=sum(candidate.copies for candidate in self.candidates.values()),
            best_trial=best.name,
            best_metric=cast("float", best.metric),
            best_values=best.values,
            best_config=str(path),
            best_checkpoint=best.checkpoint,
            mlflow_run=records.run_id,
            seconds=round(time.time() - self._started_s, 1),
        )


def best_of(candidates: Collection[Candidate], mode: str) -> Candidate:
    """Returns the trial whose last report is the best; trials that failed do not count.

    Raises:
      SearchError: There is none.
    """
    counted = [c for c in candidates if c.metric is not None and c.ending != "failed"]
    if not counted:
        errors = "; ".join(dict.fromkeys(c.error for c in candidates if c.error)) or "none has reported anything"
        raise SearchError(f"no trial came to its end: {errors}")
    return (max if mode == "max" else min)(counted, key=lambda c: cast("float", c.metric))


def _fit(plan: SearchPlan, watch: "Watch", folder: Path) -> None:
    """Runs all trials."""
    from ray import tune  # noqa: PLC0415
    from ray.tune.search import BasicVariantGenerator  # noqa: PLC0415

    from train.search.schedulers import make_scheduler  # noqa: PLC0415
    from train.search.space import drawn  # noqa: PLC0415
    from train.search.watch import named  # noqa: PLC0415

    search = plan.search
    trainable = tune.with_resources(tune.with_parameters(train_trial, plan=plan, folder=folder), {"CPU": 0, SLOT: 1})
    tuner = tune.Tuner(
        trainable,
        param_space=drawn(search),
        tune_config=tune.TuneConfig(
            metric=search.metric,
            mode=search.mode,
            num_samples=search.trials // search.combinations,
            search_alg=BasicVariantGenerator(random_state=search.seed),
            scheduler=make_scheduler(search),
            reuse_actors=True,  # Imports cost seconds; a trial that does not end in time gets a process of its own.
            trial_dirname_creator=lambda trial: named(trial.trial_id),
        ),
        run_config=tune.RunConfig(
            name=folder.name,
            storage_path=str(folder.parent),
            checkpoint_config=tune.CheckpointConfig(num_to_keep=_kept(search)),
            callbacks=[watch],
            verbose=0,
        ),
    )
    tuner.fit()


def _kept(search: SearchConfig) -> int | None:
    """Returns how many checkpoints of a trial stay; None keeps all.

    A member of a population takes over what another had when they were compared, however far that has come since.
    """
    return None if isinstance(search.scheduler, Pbt) else CHECKPOINTS_KEPT


def train_trial(values: Mapping[str, Value], plan: SearchPlan, folder: Path) -> None:
    """Trains one trial; Ray Tune calls it in a process of the trial's own.

    Args:
      values: What it tries.
      plan: What it is part of.
      folder: Holds a folder for each trial.
    """
    from ray import tune  # noqa: PLC0415

    from train.search.trial import FAILURE, tune_trial  # noqa: PLC0415
    from train.search.watch import named  # noqa: PLC0415

    name = named(str(tune.get_context().get_trial_id()))
    objective = cast("Objective", load_plugin(plan.search.objective))
    try:
        with tune_trial(name, plan.search) as trial:
            objective(plan.config_of(name, values), trial)
    except Exception as error:
        (ensure(folder / name) / FAILURE).write_text(f"{type(error).__name__}: {error}", encoding="utf-8")
        raise
