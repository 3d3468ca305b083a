"""Stands in for a learner: takes batches out of a service's buffer."""

import ray

from app.stores.buffer import Buffer
from app.types import Rows


class Learner:
    """Takes the batches of a buffer's only worker."""

    def __init__(self, buffer: Buffer, group: str) -> None:
        self.buffer = buffer
        self._group = group
        buffer.open(0, group)

    def take(self) -> Rows:
        """Returns the next batch that holds rows; its credit stays out."""
        while True:
            batch = self.buffer.take(0, self._group)
            assert batch is not None
            if batch and batch["weight"].any():
                return batch
            if batch:
                self.release(batch)

    def release(self, batch: Rows) -> None:
        assert ray.get(self.buffer.release(0, int(batch["batch"][0])))

    def next(self) -> Rows:
        batch = self.take()
        self.release(batch)
        return batch
