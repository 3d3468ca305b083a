"""Makes tensors of what comes through the stream: whole batches, or tickets for large ones."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import ray.train
import ray.train.torch
import torch
from numpy.typing import NDArray
from ray.data import DataIterator
from ray.data.collate_fn import NumpyBatchCollateFn
from torch import Tensor

from app.replay.supply import Parts
from app.stores.buffer import Buffer
from app.stores.buffer_settings import BatchLayout
from app.stores.buffer_store import EMPTY_ROUND
from app.stores.dealer import EMPTY
from app.types import Rows
from train.tickets import fetched_parts, tickets_of


def arriving(name: str) -> Iterator[dict[str, Tensor]]:
    """Yields the blocks of a stream as tensors on this worker's device; call it in a worker of the trainer.

    Args:
      name: The dataset's inside the trainer.
    """
    shard = ray.train.get_dataset_shard(name)
    device = ray.train.torch.get_device()
    yield from shard.iter_torch_batches(batch_size=None, prefetch_batches=0, device=device)


def batches(name: str, buffer: Buffer, layout: BatchLayout) -> Iterator[dict[str, Tensor]]:
    """Yields the batches of a buffer's stream as tensors on this worker's device; call it in a worker of the trainer.

    Args:
      name: The dataset's inside the trainer.
      buffer: Where tickets are changed for what they stand for.
      layout: Of one batch.
    """
    yield from device_batches(ray.train.get_dataset_shard(name), buffer, layout, ray.train.torch.get_device())


def device_batches(
    stream: DataIterator, buffer: Buffer, layout: BatchLayout, device: "torch.device | str" = "cpu"
) -> Iterator[dict[str, Tensor]]:
    """Yields the batches of a stream as tensors on a device."""
    collate = Collate(buffer, layout)
    found: list[dict[str, Tensor]]
    for found in stream.iter_torch_batches(  # type: ignore[assignment]  # It is what collate_fn returns.
        batch_size=None, prefetch_batches=0, collate_fn=collate
    ):
        for batch in found:
            yield {name: column.to(device) for name, column in batch.items()}


class Collate(NumpyBatchCollateFn):
    """Makes batches of tensors of a block: the one that it holds, or those that its tickets stand for."""

    def __init__(self, buffer: Buffer, layout: BatchLayout) -> None:
        super().__init__()
        self._buffer, self._layout = buffer, layout

    def __call__(self, batch: dict[str, NDArray[Any]]) -> list[dict[str, Tensor]]:  # type: ignore[override]  # Ray's is free.
        """Returns the batches, each tensor with memory of its own.

        Raises:
          SparringError: A batch is gone.
        """
        if not self._layout.ticketed:
            return [owned(batch)]
        tickets = tickets_of(batch)
        parts = fetched_parts(self._buffer, self._layout, tickets)
        return [
            tensors(part, ticket.batch, empty=ticket.shard == EMPTY)
            for ticket, part in zip(tickets, parts, strict=True)
        ]


def owned(batch: Rows) -> dict[str, Tensor]:
    """Returns a batch as tensors with memory of their own: what comes out of the object store is read-only."""
    return {name: torch.from_numpy(column.copy()) for name, column in batch.items()}


def tensors(parts: Parts, batch: int, *, empty: bool = False) -> dict[str, Tensor]:
    """Returns pieces as one batch, as ``numbered`` does; each column is copied once."""
    rows = sum(len(next(iter(part.values()))) for part in parts)
    whole = {name: _joined_tensor([part[name] for part in parts], rows) for name in parts[0]}
    return whole | {"batch": torch.full((rows,), batch, dtype=torch.int64), EMPTY_ROUND: torch.full((rows,), empty)}


def _joined_tensor(columns: list[NDArray[Any]], rows: int) -> Tensor:
    out = np.empty((rows, *columns[0].shape[1:]), columns[0].dtype)
    np.concatenate(columns, out=out)
    return torch.from_numpy(out)
