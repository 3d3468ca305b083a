"""From the config of a check to what looks at a field."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from app.checks.bounds import Finite, Range
from app.checks.drift_statistics import kolmogorov_smirnov, population_stability_index
from app.checks.fault import FieldChecker
from app.checks.row_fields import RowField, row_fields, selected
from app.checks.stuck import Stuck
from app.checks.windows import Drift, Saturated
from app.config.checks import Check, CheckAction, ChecksConfig, DriftCheck, RangeCheck, StuckCheck, WindowCheck
from app.models.spec import ModelSpec

FINITE: Final = "finite"
"""Name of the checks that are always there."""
STATISTICS: Final = {"psi": population_stability_index, "ks": kolmogorov_smirnov}
WHERE: Final = "checks.fields"
"""Where the config has checks of fields."""


@dataclass(frozen=True, slots=True)
class RowCheck:
    """One check of one field of rows."""

    name: str
    kind: str
    action: CheckAction
    field: RowField
    checker: FieldChecker
    record: bool = False


def row_checks(config: ChecksConfig, model: str, spec: ModelSpec) -> list[RowCheck]:
    """Returns new checks of the rows of a model.

    Args:
      config: All checks.
      model: Name of the model.
      spec: Its shapes.

    Raises:
      ConfigError: A check names a field that the rows do not have.
    """
    found: list[RowCheck] = []
    if config.finite.rows is not None:
        fields = [field for field in row_fields(spec) if np.issubdtype(field.dtype, np.floating)]
        found += [RowCheck(FINITE, FINITE, config.finite.rows, field, Finite()) for field in fields]
    for name, check in _of(config, model):
        if not check.of_learner:
            found += [
                RowCheck(name, check.kind, check.action, field, made(check), check.record)
                for field in selected(check.field, spec, f"{WHERE}.{name}")
            ]
    return found


def learner_checks(config: ChecksConfig, model: str) -> dict[str, Check]:
    """Returns the checks of a model's trainer by name."""
    return {name: check for name, check in _of(config, model) if check.of_learner}


def made(check: Check, window_rows: int | None = None) -> FieldChecker:
    """Returns what looks at one field as a check's config says.

    Args:
      check: Its config.
      window_rows: Rows of a window, and of a reference, in place of the config's; None keeps those.
    """
    if isinstance(check, RangeCheck):
        return Range(check.min, check.max)
    if isinstance(check, StuckCheck):
        return Stuck(check.rows, each_element=check.each_element)
    rows = _rows(check, window_rows)
    if isinstance(check, DriftCheck):
        reference_rows = check.reference_rows if window_rows is None else window_rows
        return Drift(check.statistic, STATISTICS[check.statistic], check.limit, check.bins, reference_rows, rows)
    return Saturated(check.min, check.max, check.tolerance, check.share, rows)


def _rows(check: WindowCheck, window_rows: int | None) -> int:
    return check.window_rows if window_rows is None else window_rows


def _of(config: ChecksConfig, model: str) -> Iterator[tuple[str, Check]]:
    return ((name, check) for name, check in config.fields.items() if check.model in (None, model))
