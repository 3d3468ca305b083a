"""Makes tensors of what comes through the stream: whole batches, or tickets for large ones."""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import ray.train
import ray.train.torch
import torch
from numpy.typing import NDArray
from ray.data.collate_fn import NumpyBatchCollateFn
from torch import Tensor

from app.errors import SparringError
from app.replay.supply import Parts, joined, padding
from app.stores.buffer import Buffer
from app.stores.buffer_settings import BatchLayout
from app.stores.buffer_store import numbered
from app.stores.dealer import EMPTY, Ticket
from app.types import Rows

NAME: Final = "train"
"""The dataset's name inside the trainer."""


def batches(buffer: Buffer, layout: BatchLayout) -> Iterator[dict[str, Tensor]]:
    """Yields the batches of this worker's stream as tensors on its device; call it in a worker of the trainer."""
    shard = ray.train.get_dataset_shard(NAME)
    device = ray.train.torch.get_device()
    collate = Collate(buffer, layout)
    yield from shard.iter_torch_batches(batch_size=None, prefetch_batches=0, device=device, collate_fn=collate)


class Collate(NumpyBatchCollateFn):
    """Makes tensors of a block, and of a ticket by fetching what it stands for."""

    def __init__(self, buffer: Buffer, layout: BatchLayout) -> None:
        super().__init__()
        self._buffer, self._layout = buffer, layout

    def __call__(self, batch: dict[str, NDArray[Any]]) -> dict[str, Tensor]:  # type: ignore[override]  # Ray's is a free variable.
        """Returns the batch, each tensor with memory of its own."""
        if not self._layout.ticketed:
            return {name: torch.tensor(column) for name, column in batch.items()}
        ticket = Ticket(*(int(batch[name][0]) for name in ("batch", "shard", "number")))
        return tensors(_fetched_parts(self._buffer, self._layout, ticket), ticket.batch)


def tensors(parts: Parts, batch: int) -> dict[str, Tensor]:
    """Returns pieces as one batch with its number in each row; each column is copied once."""
    rows = sum(len(next(iter(part.values()))) for part in parts)
    whole = {name: _joined_tensor([part[name] for part in parts], rows) for name in parts[0]}
    return whole | {"batch": torch.full((rows,), batch, dtype=torch.int64)}


def _joined_tensor(columns: list[NDArray[Any]], rows: int) -> Tensor:
    out = np.empty((rows, *columns[0].shape[1:]), columns[0].dtype)
    np.concatenate(columns, out=out)
    return torch.from_numpy(out)


def ticket_rows(ticket: Ticket) -> Rows:
    """Returns a ticket as a batch of one row."""
    named = {"batch": ticket.batch, "shard": ticket.shard, "number": ticket.number}
    return {name: np.array([number], np.int64) for name, number in named.items()}


def fetched(buffer: Buffer, layout: BatchLayout, ticket: Ticket) -> Rows:
    """Returns the rows of a ticket's batch.

    Raises:
      SparringError: They are gone.
    """
    return numbered(joined(_fetched_parts(buffer, layout, ticket)), ticket.batch)


def _fetched_parts(buffer: Buffer, layout: BatchLayout, ticket: Ticket) -> Parts:
    """Returns what a ticket stands for.

    Raises:
      SparringError: It is gone, with its shard or with the group of workers that it was for.
    """
    if ticket.shard == EMPTY:
        return [padding(layout.columns, layout.rows)]
    parts = buffer.fetch(ticket)
    if parts is None:
        raise SparringError(
            f"batch {ticket.batch} is gone from shard {ticket.shard} of the buffer, which has restarted"
        )
    return parts
