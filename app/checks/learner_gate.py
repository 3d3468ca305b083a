"""Looks at what a learner gives away: the metrics of its updates, and weights before they are published."""

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from app.checks.alarm import Alarm
from app.checks.bounds import Finite
from app.checks.fault import Fault, FieldChecker
from app.checks.making import FINITE, WHERE, learner_checks, made
from app.config.checks import Check, ChecksConfig, StuckCheck, WindowCheck
from app.errors import ConfigError

ONE: Final = np.ones(1, np.bool_)
FOLLOWS: Final = np.zeros(1, np.bool_)
MISSED_MAX: Final = 100
"""Updates without a metric after which it is held to be misspelt: evaluations come every so many updates."""
LOSS: Final = "loss"
"""Part of the names of the metrics that must be finite."""


class LearnerGate:
    """The checks of one trainer; it returns alarms, and whoever asks decides what to do with one that stops."""

    def __init__(self, config: ChecksConfig, trainer: str, model: str) -> None:
        """Makes the checks of a trainer.

        Args:
          config: All checks.
          trainer: Its name.
          model: Model that it trains.
        """
        self._finite = config.finite
        self._checks = learner_checks(config, model)
        self._trainer, self._model = trainer, model
        self._missed: Counter[str] = Counter()
        """Updates without the metric of a check, since it was there last."""
        self._checkers: dict[tuple[str, str], FieldChecker] = {}
        """By check and field, once the field was seen."""

    @property
    def looks_at_weights(self) -> bool:
        """Returns whether any check is of weights."""
        return self._finite.weights is not None or any(self._of("weights"))

    def metrics(self, update: int, metrics: Mapping[str, float]) -> list[Alarm]:
        """Returns what is wrong with the metrics of an update.

        Raises:
          ConfigError: A check names a metric that is not there.
        """
        found: list[Alarm] = []
        if self._finite.losses is not None:
            bad = [name for name, value in metrics.items() if LOSS in name and not np.isfinite(value)]
            faults = ((name, Fault(0, 0, metrics[name], "finite numbers")) for name in bad)
            found += [self._alarm(FINITE, FINITE, self._finite.losses, f"metrics/{n}", f, update) for n, f in faults]
        for name, check, metric in self._of("metrics"):
            if metric not in metrics:
                self._miss(name, check, metrics)
                continue
            self._missed[name] = 0
            values = np.array([[metrics[metric]]])
            fault = self._checker(name, check, check.field, values).look(values, FOLLOWS)
            found += self._alarms(name, check, check.field, fault, update)
        return found

    def weights(self, update: int, weights: Mapping[str, NDArray[np.generic]]) -> list[Alarm]:
        """Returns what is wrong with weights that are about to be published.

        Args:
          update: Newest update.
          weights: By parameter.

        Raises:
          ConfigError: A check names a parameter that is not there.
        """
        found: list[Alarm] = []
        if self._finite.weights is not None:
            action = self._finite.weights
            for parameter, array in weights.items():
                fault = Finite().look(array.reshape(1, -1), ONE) if array.size and array.dtype.kind == "f" else None
                if fault is not None:
                    alarm = self._alarm(FINITE, FINITE, action, f"weights/{parameter}", fault, update)
                    found.append(replace(alarm, element=fault.element) if array.size > 1 else alarm)
        for name, check, below in self._of("weights"):
            for parameter in _parameters(name, check, below, weights):
                field, array = f"weights/{parameter}", weights[parameter]
                values = array.reshape(1, -1) if isinstance(check, StuckCheck) else array.reshape(-1, 1)
                fault = self._checker(name, check, field, values).look(values, np.zeros(len(values), np.bool_))
                found += self._alarms(name, check, field, fault, update)
        return found

    def _miss(self, name: str, check: Check, metrics: Mapping[str, float]) -> None:
        """Counts an update without a metric: some are there every so many updates only."""
        self._missed[name] += 1
        if self._missed[name] >= MISSED_MAX:
            there = ", ".join(sorted(metrics))
            raise ConfigError(
                f"{WHERE}.{name}.field is {check.field!r}, which {MISSED_MAX} updates of trainer {self._trainer} did "
                f"not have; allowed are metrics/ and one of {there}"
            )

    def _of(self, part: str) -> Iterator[tuple[str, Check, str]]:
        """Yields the checks of one part, and what follows behind its slash."""
        for name, check in self._checks.items():
            first, _, rest = check.field.partition("/")
            if first == part:
                yield name, check, rest

    def _checker(self, name: str, check: Check, field: str, values: NDArray[np.generic]) -> FieldChecker:
        key = name, field
        if key not in self._checkers:
            publish = isinstance(check, WindowCheck) and field.startswith("weights")
            self._checkers[key] = made(check, len(values) if publish else None)
        return self._checkers[key]

    def _alarms(self, name: str, check: Check, field: str, fault: Fault | None, update: int) -> list[Alarm]:
        return [] if fault is None else [self._alarm(name, check.kind, check.action, field, fault, update)]

    def _alarm(self, name: str, kind: str, action: str, field: str, fault: Fault, update: int) -> Alarm:
        now_s = time.time()
        return Alarm(
            check=name,
            kind=kind,
            action=action,
            model=self._model,
            source=f"trainer {self._trainer}",
            field=field,
            value=fault.value,
            allowed=fault.allowed,
            time_s=now_s,
            first_s=now_s,
            update=update,
        )


def _parameters(name: str, check: Check, below: str, weights: Mapping[str, NDArray[np.generic]]) -> list[str]:
    """Returns the parameters that a check names: the one of that name, or all whose names begin with it."""
    found = [one for one in weights if not below or one == below or one.startswith(f"{below}.")]
    if not found:
        raise ConfigError(
            f"{WHERE}.{name}.field is {check.field!r}; allowed are weights, or weights/ and one of "
            f"{', '.join(weights)}, or what these begin with before a dot"
        )
    return [one for one in found if weights[one].size]
