"""What a launch came to."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from app.stores.metrics_values import Update


@dataclass(frozen=True, slots=True)
class LaunchResult:
    """The last line of ``sparring launch``, as JSON."""

    solved: bool
    seconds_from_launch: float
    """From the start of the process to the end of the evaluation that reached the goal."""
    env_steps: int
    """Training ticks."""
    eval_mean: float | None
    """Mean return of the evaluation games; None where none were played."""
    served_eval_mean: float | None
    """Mean return against the served champion; None where none was served."""
    policy_lag_mean: float | None
    """Mean over all updates of the rows' lag, in published versions."""
    policy_lag_max: float | None
    seconds_to_first_update: float | None
    updates: int
    memory_mib: float
    """Proportional set size of all our processes when the goal was reached."""

    def served(self, mean_return: float) -> "LaunchResult":
        """Returns the result with the mean return against the served champion."""
        return replace(self, served_eval_mean=mean_return)

    def as_dict(self) -> dict[str, object]:
        """Returns the result with floats rounded to what is meant by them."""
        return {name: _rounded(value) for name, value in asdict(self).items()}


def lag_of(updates: Sequence[Update]) -> tuple[float | None, float | None]:
    """Returns mean and maximum of the lag over updates, of all inputs; None where no update knows it."""
    means = [lag for update in updates for lag in of_inputs(update.metrics, "lag_mean")]
    highest = [lag for update in updates for lag in of_inputs(update.metrics, "lag_max")]
    return sum(means) / len(means) if means else None, max(highest, default=None)


def of_inputs(metrics: Mapping[str, float], name: str) -> list[float]:
    """Returns a metric of each input of an update; those of several inputs have the input's name in front."""
    return [value for full, value in metrics.items() if full == name or full.partition("/")[2] == name]


def _rounded(value: object) -> object:
    return round(value, 3) if isinstance(value, float) and math.isfinite(value) else value
