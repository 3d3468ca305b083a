"""Brings observations to one scale; the scale is part of the weights, so it travels with them."""

from collections.abc import Sequence
from typing import Final

import torch
from torch import Tensor, nn

from app.models.spec import ArraySpec
from app.nested import Structure

LARGEST: Final = 10.0
"""Deviations from the mean beyond which nothing is told apart."""
SMALLEST_VARIANCE: Final = 1e-8


class Normaliser(nn.Module):
    """Subtracts the running mean of each real number and divides by its deviation; whole numbers pass as they are."""

    def __init__(self, observation: Structure[ArraySpec]) -> None:
        super().__init__()
        self._leaves = tuple(leaf for leaf in observation.leaves)
        self._real = tuple(at for at, leaf in enumerate(self._leaves) if leaf.numpy_dtype.kind == "f")
        self.count: Tensor
        self.register_buffer("count", torch.zeros((), dtype=torch.float64))
        for at in self._real:
            self.register_buffer(f"mean_{at}", torch.zeros(self._leaves[at].shape))
            self.register_buffer(f"variance_{at}", torch.ones(self._leaves[at].shape))

    def forward(self, leaves: Sequence[Tensor]) -> list[Tensor]:
        """Returns the leaves of an observation, each [B, …], with mean 0 and deviation 1 as far as is known."""
        found = list(leaves)
        for at in self._real:
            deviation = (self.get_buffer(f"variance_{at}") + SMALLEST_VARIANCE).sqrt()
            found[at] = ((leaves[at] - self.get_buffer(f"mean_{at}")) / deviation).clamp(-LARGEST, LARGEST)
        return found

    def moments(self, observation: Sequence[Tensor], weight: Tensor) -> Tensor:
        """Returns sums over the rows that count, float64 [n], which may be added up over workers.

        Args:
          observation: By leaves, each [N, …].
          weight: 0 for rows that do not count, [N].
        """
        counted = weight > 0
        sums = [counted.sum().double()[None]]
        for at in self._real:
            rows = observation[at][counted].double().flatten(1)
            sums += [rows.sum(0), rows.square().sum(0)]
        return torch.cat(sums).cpu()

    def observe(self, moments: Tensor) -> None:
        """Takes the sums of one batch in, after Chan et al. (1979); nothing where no row counted."""
        rows, *_ = moments.tolist()
        if not rows:
            return
        rest = moments[1:]
        total = float(self.count) + rows
        for at in self._real:
            mean, variance = self.get_buffer(f"mean_{at}"), self.get_buffer(f"variance_{at}")
            sums, squares, rest = rest.tensor_split([mean.numel(), 2 * mean.numel()])
            newest = sums.reshape(mean.shape) / rows
            spread = (squares.reshape(mean.shape) / rows - newest.square()).clamp(min=0)
            before, delta = float(self.count), newest - mean.double().cpu()
            merged = (variance.double().cpu() * before + spread * rows + delta.square() * before * rows / total) / total
            mean.copy_(mean.double().cpu() + delta * rows / total)
            variance.copy_(merged)
        self.count.fill_(total)
