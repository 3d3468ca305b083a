"""Which worker of the trainer gets which stream."""

import uuid
from collections.abc import Callable, Mapping
from typing import Any

from ray.data import Dataset
from ray.train import DataConfig


class OwnStreams(DataConfig):
    """Gives each worker streams of its own; the workers of one start form one group."""

    def __init__(self, make: Mapping[str, Callable[[int, str, int], Dataset]]) -> None:
        """Keeps what makes the streams.

        Args:
          make: Returns a rank's stream of a group of so many, by the dataset's name inside the trainer.
        """
        super().__init__()
        self._make = make

    def configure(self, datasets: Any, world_size: int, *_: Any, **__: Any) -> list[dict[str, Any]]:
        """Returns the streams of each rank."""
        group = uuid.uuid4().hex
        return [
            {name: make(rank, group, world_size).iterator() for name, make in self._make.items()}
            for rank in range(world_size)
        ]
