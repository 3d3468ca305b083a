"""What a table did, as numbers."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Removal(StrEnum):
    """Why a row left."""

    OVERWRITTEN = "overwritten"
    """The table was full."""
    REUSED = "reused"
    """It was sampled ``max_reuse`` times."""
    OLD_BY_INSERTS = "old_by_inserts"
    OLD_BY_VERSIONS = "old_by_versions"
    DELETED = "deleted"
    """By hand."""


@dataclass(frozen=True, slots=True)
class TableStats:
    """Rows since the start; inserted = held + the sum of removed."""

    inserted: int
    sampled: int
    """Rows handed out, each as often as it was."""
    held: int
    removed: Mapping[Removal, int]
    updates_ignored: int
    """Priorities that came for rows that had left."""
    samples_per_insert: float
    """NaN before the first insert."""
    mean_age_inserts: float
    """Rows that came after a row, on average over the rows held; NaN where none is held."""
