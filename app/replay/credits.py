"""Bounds the batches between the buffer and the optimizer."""

from dataclasses import dataclass, field


@dataclass(slots=True)
class RankCredits:
    """Credits of one learner worker."""

    free: int
    under_way: set[int] = field(default_factory=set)


class Credits:
    """A batch is handed out against a credit, which returns when the batch has been learned from.

    Invariant: free + under way = ``per_rank`` for each open stream.
    """

    def __init__(self, per_rank: int) -> None:
        if per_rank < 1:
            raise ValueError(f"credits need at least 1 per rank, got {per_rank}")
        self._per_rank = per_rank
        self._ranks: dict[int, RankCredits] = {}

    def open(self, rank: int) -> None:
        """Starts the stream of a rank with all its credits; those of an older stream of the rank die with it."""
        self._ranks[rank] = RankCredits(self._per_rank)

    def available(self, rank: int) -> bool:
        """Returns whether the rank may take a batch."""
        return self.free(rank) > 0

    def free(self, rank: int) -> int:
        """Returns how many batches the rank may take; 0 where it has no stream."""
        return self._ranks[rank].free if rank in self._ranks else 0

    def take(self, rank: int, batch_id: int) -> None:
        """Spends a credit on a batch.

        Raises:
          ValueError: The rank has no credit.
        """
        if not self.available(rank):
            raise ValueError(f"rank {rank} has no credit for batch {batch_id}")
        self._ranks[rank].free -= 1
        self._ranks[rank].under_way.add(batch_id)

    def release(self, rank: int, batch_id: int) -> bool:
        """Gives the credit of a batch back; returns False where it was already back or of an older stream."""
        own = self._ranks.get(rank)
        if own is None or batch_id not in own.under_way:
            return False
        own.under_way.remove(batch_id)
        own.free += 1
        return True

    def under_way(self, rank: int) -> int:
        """Returns the number of batches that the rank holds."""
        return len(self._ranks[rank].under_way) if rank in self._ranks else 0
