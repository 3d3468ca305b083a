"""Which checkpoints are kept."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.config.checkpoints import KeepCheckpoints


@dataclass(frozen=True, slots=True)
class Mark:
    """What the rules look at."""

    name: str
    ordinal: int
    """Checkpoints written until then, itself and those that are gone included."""
    metrics: Mapping[str, float]


def kept(marks: Sequence[Mark], keep: KeepCheckpoints) -> set[str]:
    """Returns the names of those that any rule keeps.

    Args:
      marks: The checkpoints, oldest first.
      keep: The rules; of equally good ones the newest is kept.
    """
    names = {mark.name for mark in marks[-keep.last :]}
    if keep.every_nth is not None:
        names |= {mark.name for mark in marks if mark.ordinal % keep.every_nth == 0}
    if keep.best is not None:
        metric, sign = keep.best.metric, 1 if keep.best.order == "largest" else -1
        measured = [mark for mark in marks if metric in mark.metrics]
        ranked = sorted(measured, key=lambda mark: (sign * mark.metrics[metric], mark.ordinal))
        names |= {mark.name for mark in ranked[-keep.best.count :]}
    return names
