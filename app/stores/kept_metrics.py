"""The totals of the metric store on disk, so that they outlive its process."""

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import orjson

from app.files import replace_file
from app.stores.metrics_values import Episode, Update
from app.types import Purpose

SCHEMA_VERSION: Final = 1
KEPT: Final = 1_000
"""Newest episodes of each purpose, and newest updates of each trainer, that are written: enough for every mean."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Totals:
    """What a metric store has added up."""

    counts: Mapping[str, int]
    episodes: Sequence[Episode]
    """Oldest first."""
    updates: Sequence[Update]
    """Oldest first for each trainer."""
    failures: Mapping[str, str]
    """Why training runs ended, by run."""


class MetricsFile:
    """One JSON file; a write replaces it whole or not at all."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def save(self, totals: Totals) -> None:
        """Replaces the file.

        Raises:
          OSError: The disk is full or the folder cannot be written.
        """
        document = {
            "schema_version": SCHEMA_VERSION,
            "counts": dict(totals.counts),
            "episodes": [tuple(episode) for episode in totals.episodes],
            "updates": [(u.number, u.time_s, dict(u.metrics), u.trainer) for u in totals.updates],
            "failures": dict(totals.failures),
        }
        replace_file(self._path, orjson.dumps(document))

    def load(self) -> Totals | None:
        """Returns what was saved last; None where nothing was, or where it is unreadable, which is logged."""
        try:
            document = orjson.loads(self._path.read_bytes())
            return _totals(document)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, KeyError) as error:
            _log.warning("%s is not read, counters begin at 0: %s", self._path, error)
            return None


def _totals(document: Mapping[str, Any]) -> Totals:
    version = document["schema_version"]
    if version != SCHEMA_VERSION:
        raise ValueError(f"its schema version is {version}, allowed: {SCHEMA_VERSION}")
    return Totals(
        {str(name): int(count) for name, count in document["counts"].items()},
        [Episode(Purpose(purpose), _number(r), int(ticks), agent) for purpose, r, ticks, agent in document["episodes"]],
        [
            Update(int(number), float(time_s), {name: _number(value) for name, value in metrics.items()}, trainer)
            for number, time_s, metrics, trainer in document["updates"]
        ],
        {str(run): str(reason) for run, reason in document["failures"].items()},
    )


def _number(value: float | None) -> float:
    """Returns a number; JSON has none that is not finite, and holds null in its place."""
    return math.nan if value is None else float(value)
