"""The checks of one learner worker: what it learns from, what its updates measure, and what it publishes."""

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, Protocol

import torch
from ray.exceptions import RayError
from torch import Tensor

from app.checks.alarm import Alarm
from app.checks.cutting import filled
from app.checks.learner_gate import LearnerGate
from app.checks.references import referred_row_checks
from app.checks.row_gate import Place, RowGate
from app.config.root import ExperimentConfig
from app.errors import CheckError
from app.models.module import arrays_of
from app.models.spec import ModelSpec
from app.replay.rows import row_dtypes

SEND_TIMEOUT_S: Final = 10.0
"""Longest wait for the store of alarms."""

_log = logging.getLogger(__name__)


class Store(Protocol):
    """Takes alarms."""

    def report_now(self, alarms: Sequence[Alarm], timeout_s: float = SEND_TIMEOUT_S) -> None:
        """Sends alarms and waits until they have come."""


class TrainerChecks:
    """Sends alarms, and ends training where a check is to do so."""

    def __init__(self, config: ExperimentConfig, trainer: str, spec: ModelSpec, store: Store) -> None:
        """Makes the checks of a worker.

        Args:
          config: With the components of its mode.
          trainer: Name of the trainer.
          spec: Of its model.
          store: Where alarms go.

        Raises:
          ConfigError: A check names a field that rows do not have.
          SourceError: A reference cannot be read.
        """
        settings = config.trainers[trainer]
        self._spec, self._store = spec, store
        self._columns = row_dtypes(spec)
        self._gate = LearnerGate(config.checks, trainer, settings.model)
        self._found: list[Alarm] = []
        self._dropped: Counter[str] = Counter()
        place = Place(settings.model, f"trainer {trainer}")
        self._rows: dict[int, RowGate] = {}
        """Of the inputs whose rows no replica has looked at, by their places."""
        for at, one in enumerate(settings.inputs):
            if one.source is not None:
                checks = referred_row_checks(config, settings.model, spec)
                self._rows[at] = RowGate(checks, place, self._dropped, self._found.append)

    def batch(self, at: int, batch: dict[str, Tensor]) -> None:
        """Takes rows out of a batch of the input at a place, in the batch itself; their number stays the same.

        Raises:
          CheckError: A check that is to stop training has found something.
        """
        gate = self._rows.get(at)
        if gate is None:
            return
        rows = {name: column.cpu().numpy() for name, column in batch.items() if name in self._columns}
        left = gate.passed(rows)
        if left is not rows:
            for name, column in filled(left, len(rows["kind"]), self._spec).items():
                batch[name] = torch.from_numpy(column).to(batch[name])
        found, self._found[:] = list(self._found), []
        self._tell(found)

    def dropped(self) -> dict[str, float]:
        """Returns how many rows of batches checks have found and dropped until now, by the names of counters."""
        return {name: float(rows) for name, rows in self._dropped.items()}

    def metrics(self, update: int, metrics: Mapping[str, float]) -> None:
        """Looks at the metrics of an update.

        Raises:
          CheckError: As above.
          ConfigError: A check names a metric that is not there.
        """
        self._tell(self._gate.metrics(update, metrics))

    def weights(self, update: int, weights: Mapping[str, Tensor]) -> None:
        """Looks at weights that are about to be published.

        Raises:
          CheckError: As above.
          ConfigError: A check names a parameter that is not there.
        """
        if self._gate.looks_at_weights:
            self._tell(self._gate.weights(update, arrays_of(weights)))

    def _tell(self, alarms: Sequence[Alarm]) -> None:
        if not alarms:
            return
        for alarm in alarms:
            _log.warning("%s", alarm)
        try:
            self._store.report_now(alarms)
        except RayError as error:
            _log.warning("the store of alarms does not answer, %d alarms are lost: %s", len(alarms), error)
        stopping = [alarm for alarm in alarms if alarm.action == "stop"]
        if stopping:
            raise CheckError("; ".join(map(str, stopping)))
