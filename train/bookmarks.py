"""How far each worker has read its input, in batches and in checkpoints."""

import logging
from collections.abc import Mapping, Sequence

from torch import Tensor

from app.sources.position import Position

Bookmark = tuple[int, ...]
"""What an input takes up its stream by; its first number is the epoch."""

_log = logging.getLogger(__name__)


def bookmark_in(batch: Mapping[str, Tensor]) -> Bookmark | None:
    """Returns where the rows behind a batch stand; None where its input cannot go back."""
    return tuple(batch["position"][0].tolist()) if "position" in batch else None


def bookmark_of(saved: Sequence[Bookmark | None] | None, rank: int, workers: int) -> Bookmark | None:
    """Returns where a worker goes on; None at the start.

    Where there were as many workers, that is exactly where it was. Other numbers of workers share the trajectories in
    another way: they begin the oldest epoch anew.

    Args:
      saved: By rank, as a checkpoint holds them; None where it holds none.
      rank: Of the worker.
      workers: How many there are now.
    """
    bookmarks = [bookmark for bookmark in saved or () if bookmark is not None]
    if not saved or not bookmarks:
        return None
    if len(saved) == workers:
        return None if saved[rank] is None else tuple(saved[rank] or ())
    epoch = min(bookmark[0] for bookmark in bookmarks)
    _log.warning("%d workers read on where %d have stopped: epoch %d begins anew", workers, len(saved), epoch)
    return Position(epoch, 0, 0, 0)
