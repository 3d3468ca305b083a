"""The process group of the workers."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final, TypeVar, cast

import torch
from torch import Tensor, distributed
from torch._C._distributed_c10d import HashStore

from train.strategies.strategy import Place

TIMEOUT_S: Final = 600.0
"""Longest wait for the other workers when state is gathered: they do the same at the same time."""


def ensure_group(place: Place) -> None:
    """Makes a process group of this process alone, where a strategy needs one and there is none."""
    if distributed.is_initialized():
        return
    backend = "nccl" if place.device.type == "cuda" else "gloo"
    distributed.init_process_group(backend, store=HashStore(), rank=0, world_size=1)


_T = TypeVar("_T")


class Processes:
    """What workers tell each other besides gradients, over the CPU; a worker that dies ends the wait of the others."""

    def __init__(self, rank: int, workers: int) -> None:
        """Joins the others, who do the same; a worker alone needs no process group."""
        self.rank, self.workers = rank, workers
        self._group: Any = None
        if workers > 1:
            self._group = distributed.new_group(backend="gloo", timeout=timedelta(seconds=TIMEOUT_S))

    def agree(self, decide: Callable[[], bool]) -> bool:
        """Returns what rank 0 decides, on all workers."""
        if self.workers == 1:
            return decide()
        decision = torch.tensor([decide() if self.rank == 0 else False], dtype=torch.uint8)
        distributed.broadcast(decision, 0, group=self._group)
        return bool(decision.item())

    def share(self, make: Callable[[], _T]) -> _T:
        """Returns what rank 0 makes, on all workers."""
        if self.workers == 1:
            return make()
        found: list[Any] = [make() if self.rank == 0 else None]
        distributed.broadcast_object_list(found, src=0, group=self._group)
        return cast("_T", found[0])

    def gather(self, value: Any) -> list[Any] | None:
        """Returns the values of all workers by rank, on rank 0; None on the others."""
        if self.workers == 1:
            return [value]
        found: list[Any] | None = [None] * self.workers if self.rank == 0 else None
        distributed.gather_object(value, found, dst=0, group=self._group)
        return found

    def reduce_sum(self, x: Tensor) -> Tensor:
        """Returns the sum over the workers of a CPU tensor."""
        if self.workers > 1:
            x = x.clone()
            distributed.all_reduce(x, group=self._group)
        return x
