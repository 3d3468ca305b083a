"""Batches [T, B] of concatenated trajectories, and the trajectories themselves, for tests of returns."""

from dataclasses import dataclass
from itertools import pairwise

import torch
from hypothesis import strategies as st
from torch import Tensor

GAMMA = 0.9


@dataclass
class Batch:
    """Rows in time order; a terminated row is cut as well."""

    r_t: Tensor
    terminated: Tensor
    cut_t: Tensor
    v_tm1: Tensor
    v_t: Tensor
    log_rho: Tensor

    @property
    def discount_t(self) -> Tensor:
        return GAMMA * (1 - self.terminated)

    def trajectories(self, column: int) -> list["Batch"]:
        """Returns the trajectories of one column, each [T', 1]."""
        cuts = [t + 1 for t in range(len(self.r_t) - 1) if self.cut_t[t, column]]
        bounds = [0, *cuts, len(self.r_t)]
        fields = (self.r_t, self.terminated, self.cut_t, self.v_tm1, self.v_t, self.log_rho)
        return [Batch(*(field[a:b, column : column + 1] for field in fields)) for a, b in pairwise(bounds)]


def drawn(seed: int, steps: int, columns: int) -> Batch:
    """Returns a random batch, float64; where a trajectory goes on, the state reached is that of the next row."""
    draw = torch.Generator().manual_seed(seed)

    def uniform(low: float, high: float, rows: int = steps) -> Tensor:
        return low + (high - low) * torch.rand(rows, columns, generator=draw, dtype=torch.float64)

    kind = uniform(0, 1)
    terminated = (kind < 0.15).double()
    cut = (kind < 0.3).double()
    values = uniform(-5, 5, steps + 1)
    reached = torch.where(cut > 0, uniform(-5, 5), values[1:])
    return Batch(uniform(-3, 3), terminated, cut, values[:-1], reached, uniform(0.2, 3).log())


batches = st.builds(drawn, st.integers(0, 2**32), st.integers(1, 8), st.integers(1, 3))


def joined(batch: Batch, by_trajectory: list[list[list[float]]]) -> Tensor:
    """Returns the results of each column's trajectories as one batch."""
    columns = [[x for part in parts for x in part] for parts in by_trajectory]
    return torch.tensor(columns, dtype=torch.float64).T
