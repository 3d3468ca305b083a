"""Recorded rows as the reference of drift checks."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from app.checks.making import RowCheck, row_checks
from app.checks.windows import Drift
from app.config.checks import DriftCheck
from app.config.root import ExperimentConfig
from app.errors import SourceError
from app.models.spec import ModelSpec
from app.sources.opening import open_preprocess, open_reader
from app.types import RowKind, Rows

EPOCH: Final = 1
"""A reference is read once at most."""


def referred_row_checks(config: ExperimentConfig, model: str, spec: ModelSpec) -> list[RowCheck]:
    """Returns new checks of the rows of a model; those that compare with a source have read it.

    Args:
      config: With its sources.
      model: Name of the model.
      spec: Its shapes.

    Raises:
      ConfigError: A check names a field that the rows do not have.
      SourceError: A source cannot be read, or has no step.
      PluginError: User code that a source names cannot be imported.
    """
    checks = row_checks(config.checks, model, spec)
    for check in checks:
        wanted = config.checks.fields.get(check.name)
        if isinstance(wanted, DriftCheck) and wanted.reference is not None and isinstance(check.checker, Drift):
            parts = [check.field.values(rows) for rows in _steps(config, wanted, spec)]
            check.checker.refer(np.concatenate(parts))
    return checks


def _steps(config: ExperimentConfig, wanted: DriftCheck, spec: ModelSpec) -> Sequence[Rows]:
    """Returns as many steps of a source as the reference has, or all that there are."""
    name = str(wanted.reference)
    if name not in config.sources:
        there = ", ".join(config.sources) or "none"
        raise SourceError(
            f"drift of {wanted.field} refers to sources.{name}, which does not exist in mode {config.run.mode}; there "
            f"are: {there}; allowed is a source with enable: both"
        )
    once = config.sources[name].model_copy(update={"epochs": EPOCH, "shuffle": None})
    alone = config.model_copy(update={"sources": {**config.sources, name: once}})
    preprocess = open_preprocess(alone, name, spec)
    found: list[Rows] = []
    missing = wanted.reference_rows
    for _, stored in open_reader(alone, name, spec).trajectories():
        rows = stored if preprocess is None else preprocess(stored)
        at = np.flatnonzero(rows["kind"] == RowKind.STEP)[:missing]
        found.append({column: values[at] for column, values in rows.items()})
        missing -= len(at)
        if missing <= 0:
            break
    if missing == wanted.reference_rows:
        raise SourceError(f"sources.{name} has no step; a reference of drift needs at least one")
    return found
