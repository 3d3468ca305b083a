"""One MLflow run: opens or resumes it, writes batches of metrics, ends it. Blocks: ``Tracker`` gives it a thread."""

import json
import posixpath
import re
import shutil
import subprocess
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeVar

import yaml

from app.errors import TrackingError
from app.logs.secrets import SECRETS
from app.stores import mlflow_store
from train.update_buffer import Value

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient

Item = TypeVar("Item")
RunStatus = Literal["FINISHED", "FAILED", "KILLED"]

# MLflow's limits (mlflow.utils.validation).
ENTITIES_PER_CALL: Final = 1000
TAGS_PER_CALL: Final = 1
METRICS_PER_CALL: Final = ENTITIES_PER_CALL - TAGS_PER_CALL
KEY_LENGTH: Final = 250
PARAM_LENGTH: Final = 6000
TAG_LENGTH: Final = 8000

START_TAG: Final = "sparring.start"
"""Finds the run again whose creation was answered too late."""
NON_FINITE_TAG: Final = "sparring.non_finite"
"""Says which metrics were infinite or not a number, and how often: MLflow would store infinity as 1.8e308."""


@dataclass(frozen=True, slots=True)
class TrackedTrial:
    """What a run records about the trial that it belongs to."""

    project: str
    """Becomes the experiment."""
    trial: str
    """Becomes the run's name."""
    config: Mapping[str, object]
    """The resolved config as plain values: flattened into params, and kept whole as ``config.yaml``; secrets in it are
    covered when the trial is made."""
    git_commit: str | None = None
    """Commit of the code; None where it is unknown."""
    run_id: str | None = None
    """Run to continue, whose params stay as they are; None starts a new one."""
    parent_run_id: str | None = None
    """Run that MLflow shows it below; None for none."""

    def __post_init__(self) -> None:
        """Covers secrets, since whatever MLflow or a file gets of the config comes from here."""
        object.__setattr__(self, "config", SECRETS.covered_tree(self.config))


class MlflowRun:
    """The run of one trial in one store."""

    def __init__(self, uri: str, root: Path, trial: TrackedTrial, start: str | None = None) -> None:
        """Keeps the names; ``open`` connects.

        Args:
          uri: Address of the store, as ``mlflow_store.tracking_uri`` gives it.
          root: State root, under which the artifacts of an sqlite store lie.
          trial: What the run records.
          start: Of a run that was begun earlier, by whose tag it is found again; None begins a new one.
        """
        self.run_id: str | None = None
        self._uri = uri
        self._root = root
        self._trial = trial
        self.start = uuid.uuid4().hex if start is None else start
        """Finds the run again."""
        self._client: "MlflowClient | None" = None

    def open(self) -> None:
        """Creates or resumes the run with its tags, params and config; may be repeated after a failure."""
        mlflow_store.prepare(self._uri, self._root)
        from mlflow.entities import Param  # noqa: PLC0415

        client = self._client = mlflow_store.connect(self._uri)
        trial = self._trial
        if trial.run_id is None:
            run_id = self._find_or_create(client)
            client.log_batch(run_id, params=[Param(*item) for item in flatten(trial.config).items()])
        else:
            run_id = trial.run_id
            client.update_run(run_id, status="RUNNING")
            for key, value in self._tags().items():
                client.set_tag(run_id, key, value)
        client.log_text(run_id, yaml.safe_dump(dict(trial.config), sort_keys=False), "config.yaml")
        self.run_id = run_id

    def write(self, values: Sequence[Value], non_finite: Mapping[str, int]) -> None:
        """Writes values in calls within MLflow's limits; repeating it writes nothing twice.

        Args:
          values: Finite metrics.
          non_finite: How often each metric was not finite since the start; empty leaves the tag alone.
        """
        from mlflow.entities import Metric, RunTag  # noqa: PLC0415

        client, run_id = self._opened()
        tags = [RunTag(NON_FINITE_TAG, _counts(non_finite))] if non_finite else []
        for chunk in _chunks(values, METRICS_PER_CALL) if values else [()]:
            metrics = [Metric(metric_key(name), value, time_ms, step) for name, value, time_ms, step in chunk]
            client.log_batch(run_id, metrics=metrics, tags=tags)

    def end(self, status: RunStatus) -> None:
        """Marks the run as ended."""
        client, run_id = self._opened()
        client.set_terminated(run_id, status)

    def _opened(self) -> "tuple[MlflowClient, str]":
        if self._client is None or self.run_id is None:
            raise TrackingError(f"the run of trial {self._trial.trial!r} is not open; call open() first")
        return self._client, self.run_id

    def _find_or_create(self, client: "MlflowClient") -> str:
        experiment_id = self._experiment(client)
        found = client.search_runs([experiment_id], f"tags.`{START_TAG}` = '{self.start}'", max_results=1)
        if found:
            return str(found[0].info.run_id)
        return str(client.create_run(experiment_id, tags=self._tags(), run_name=self._trial.trial).info.run_id)

    def _experiment(self, client: "MlflowClient") -> str:
        from mlflow.exceptions import MlflowException  # noqa: PLC0415

        project = self._trial.project
        found = client.get_experiment_by_name(project)
        if found is not None:
            return str(found.experiment_id)
        try:
            return client.create_experiment(
                project, artifact_location=mlflow_store.artifact_location(self._uri, self._root, project)
            )
        except MlflowException as error:  # Another process was quicker.
            found = client.get_experiment_by_name(project)
            if error.error_code != "RESOURCE_ALREADY_EXISTS" or found is None:
                raise
            return str(found.experiment_id)

    def _tags(self) -> dict[str, str]:
        trial = self._trial
        tags = {"project": trial.project, "trial": trial.trial, START_TAG: self.start}
        more = {"mlflow.source.git.commit": trial.git_commit, "mlflow.parentRunId": trial.parent_run_id}
        return tags | {name: value for name, value in more.items() if value is not None}


@lru_cache(maxsize=4096)
def metric_key(name: str) -> str:
    """Returns a name that MLflow accepts: letters, digits and ``_-. :/``, a clean relative path, at most 250 long."""
    key = re.sub(r"[^\w\-. :/]", "_", name)[:KEY_LENGTH]
    if not key or key.startswith(("/", "..")) or posixpath.normpath(key) != key or key == ".":
        key = "_" + re.sub(r"[/.]", "_", key)[1:]
    return key


def flatten(config: Mapping[str, object]) -> dict[str, str]:
    """Returns a nested config as dotted keys and texts, cut to MLflow's limits; short lists stay one value."""
    return {metric_key(key): _text(value)[:PARAM_LENGTH] for key, value in _leaves("", config)}


def _leaves(prefix: str, value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _leaves(f"{prefix}.{key}" if prefix else str(key), inner)
    elif isinstance(value, list | tuple) and any(isinstance(inner, Mapping) for inner in value):
        for index, inner in enumerate(value):
            yield from _leaves(f"{prefix}.{index}", inner)
    elif prefix:
        yield prefix, value


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)


def _counts(non_finite: Mapping[str, int]) -> str:
    return ", ".join(f"{name} × {count}" for name, count in sorted(non_finite.items()))[:TAG_LENGTH]


def _chunks(values: Sequence[Item], size: int) -> list[Sequence[Item]]:
    return [values[start : start + size] for start in range(0, len(values), size)]


def git_commit(folder: Path) -> str | None:
    """Returns the commit checked out in ``folder``; None outside a repository or without git."""
    git = shutil.which("git")
    if git is None:
        return None
    command = [git, "-C", str(folder), "rev-parse", "--verify", "HEAD"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)  # noqa: S603
    except subprocess.TimeoutExpired:  # A network file system that hangs: the commit is not worth waiting for.
        return None
    return answer.stdout.strip() if answer.returncode == 0 else None
