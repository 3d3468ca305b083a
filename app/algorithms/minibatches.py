"""How the transitions of a batch are dealt out to optimizer steps."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from app.algorithms.descent import ReduceSum


class Minibatch(NamedTuple):
    """Transitions of one optimizer step."""

    rows: Tensor
    """Which rows of the batch, int64 [M]; none where another worker alone has any."""
    size: float
    """How many there are over all workers, above 0."""


def minibatches(
    batch: Mapping[str, Tensor], count: int, shuffle: torch.Generator, reduce_sum: ReduceSum
) -> Iterator[Minibatch]:
    """Yields the rows that count, in as many parts on every worker, but for those that are empty on all of them.

    Args:
      batch: Columns, [N, …]; rows of weight 0 do not count.
      count: How many parts are made.
      shuffle: Draws which rows stand together.
      reduce_sum: Adds up over the workers.
    """
    counted = torch.nonzero(batch["weight"] > 0).squeeze(1)
    order = torch.randperm(len(counted), generator=shuffle).to(counted.device)
    parts = counted[order].tensor_split(count)
    sizes = reduce_sum(torch.tensor([float(len(part)) for part in parts])).tolist()
    for part, size in zip(parts, sizes, strict=True):
        if size:
            yield Minibatch(part, size)
