"""Stands in for a learner: takes batches out of a service's buffer."""

import numpy as np
import ray
from ray.exceptions import RayError

from app.replay.supply import joined
from app.stores.buffer import Buffer
from app.stores.dealer import Ticket
from app.types import Rows

from .service import wait_until


class Learner:
    """Takes the batches of a buffer's only worker."""

    def __init__(self, buffer: Buffer, group: str) -> None:
        self.buffer = buffer
        self._group = group
        buffer.open(0, group)

    def take(self) -> Rows:
        """Returns the next batch that holds rows; its credit stays out."""
        while True:
            taken = self.buffer.take(0, self._group)
            assert taken is not None
            batch = self._fetched(taken[0]) if isinstance(taken, list) else taken
            if batch and batch["weight"].any():
                return batch
            if batch:
                self.release(batch)

    def release(self, batch: Rows) -> None:
        assert ray.get(self.buffer.release(0, int(batch["batch"][0])))

    def _fetched(self, ticket: Ticket) -> Rows:
        """Returns the batch of a ticket from the shard that holds it; nothing of one that is empty."""
        (parts,) = self.buffer.fetch([ticket])
        if not parts:
            assert ray.get(self.buffer.release(0, ticket.batch))
            return {}
        rows = joined(parts)
        return {**rows, "batch": np.full(len(rows["weight"]), ticket.batch)}

    def close(self) -> None:
        """Closes the buffer, which is to be asked again where it has not answered at once."""

        def closed() -> bool:
            try:
                self.buffer.close()
            except RayError:
                return False
            return True

        wait_until(closed, "the buffer is closed")

    def next(self) -> Rows:
        batch = self.take()
        self.release(batch)
        return batch
