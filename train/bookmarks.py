"""How far each worker has read its input, in batches and in checkpoints."""

import logging
from collections.abc import Mapping, Sequence

from torch import Tensor

from app.sources.position import START, Past, Place, Position

Bookmark = tuple[int, ...]
"""A position in plain numbers, as batches and checkpoints hold it."""

_log = logging.getLogger(__name__)


def bookmark_in(batch: Mapping[str, Tensor]) -> Position | None:
    """Returns where the rows behind a batch stand; None where its input cannot go back."""
    return Position(*batch["position"][0].tolist()) if "position" in batch else None


def place_of(
    saved: Sequence[Bookmark | None] | None, past: Sequence[Sequence[Bookmark]], rank: int, workers: int
) -> Place | None:
    """Returns where a worker goes on; None at the start.

    Where there were as many workers, that is exactly where it was. Another number of workers shares out what those of
    the checkpoint have left of their epochs, and all of the epochs that none of them has begun.

    Args:
      saved: By rank, as a checkpoint holds them; None where it holds none.
      past: The bookmarks of groups of other numbers before, by rank, the oldest first.
      rank: Of the worker.
      workers: How many there are now.
    """
    if not saved or all(bookmark is None for bookmark in saved):
        return None
    before = tuple(tuple(Position(*bookmark) for bookmark in group) for group in past)
    positions = tuple(START if bookmark is None else Position(*bookmark) for bookmark in saved)
    if len(positions) == workers:
        return Place(positions[rank], before)
    oldest = min(position.epoch for position in positions)
    if rank == 0:
        _log.info("%d workers share out what %d have left of epoch %d", workers, len(positions), oldest)
    return Place(Position(oldest, 0, 0, 0), (*before, positions))


def needed(past: Past, positions: Sequence[Position | None]) -> list[list[Bookmark]]:
    """Returns the groups of the past in plain numbers; none once no worker reads what they have left.

    Args:
      past: The oldest first.
      positions: Of all workers; None of one that has read nothing.
    """
    oldest = min((START if position is None else position).epoch for position in positions)
    if all(position.epoch < oldest for group in past for position in group):
        return []
    return [[tuple(position) for position in group] for group in past]
