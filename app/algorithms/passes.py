"""How a network is led over the rows of a batch: each on its own, or as sequences that carry a state.

Sequences begin with the state that was stored when they were played, and may first go over some rows without learning
from them, so that the state is that of the present network (burn-in, Kapturowski et al., 2019, R2D2).
"""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from app.algorithms.batch_columns import Batch, BatchColumns, at
from app.models.module import call
from app.models.spec import ModelSpec
from app.types import RowKind


class Answers(NamedTuple):
    """What the network says to some rows."""

    rows: Tensor
    """Which rows of the batch, int64 [M]."""
    leaves: list[Tensor]
    """Inputs of the action's distribution by leaves, and the value behind them, each [M, …]."""


class Pass(Protocol):
    """Leads a network over one batch."""

    @property
    def units(self) -> int:
        """What minibatches are drawn from: rows, or sequences, that hold something to learn from."""

    def size(self, units: Tensor) -> int:
        """Returns the number of rows that count in these units."""

    def everything(self) -> list[Tensor]:
        """Returns what the network says to all rows, in their order, each [N, …]; 0 to padding."""

    def learned(self, units: Tensor) -> Answers:
        """Returns what the network says to the rows that count in these units, with a gradient."""


class RowPass:
    """Each row on its own: for networks without a state."""

    def __init__(self, module: nn.Module, spec: ModelSpec, batch: Batch) -> None:
        self._module = module
        self._spec = spec
        self._observation = BatchColumns(spec).leaves(batch, "observation")
        self._counted = torch.nonzero(batch["weight"] > 0).squeeze(1)

    @property
    def units(self) -> int:
        """Rows that count."""
        return len(self._counted)

    def size(self, units: Tensor) -> int:
        """Returns the number of units."""
        return len(units)

    def everything(self) -> list[Tensor]:
        """Returns what the network says to all rows."""
        return call(self._module, self._spec, self._observation, [])[0]

    def learned(self, units: Tensor) -> Answers:
        """Returns what the network says to these rows."""
        rows = self._counted[units.to(self._counted.device)]
        return Answers(rows, call(self._module, self._spec, at(self._observation, rows), [])[0])


@dataclass(frozen=True, slots=True)
class Window:
    """Steps of one trajectory that a sequence is made of, by their rows in the batch."""

    begin: int
    """First row that the network sees; its stored state is where the sequence begins."""
    first: int
    """First row that is learned from; those before it are burn-in."""
    end: int
    """Behind the last row."""


@dataclass(frozen=True, slots=True)
class SequenceSettings:
    """How trajectories are cut for a network with a state."""

    ticks: int
    """Longest run of steps that gradients go back through."""
    burn_in_ticks: int
    """Steps before it, where the trajectory has them, that only bring the state up to date."""


class SequencePass:
    """Sequences with the stored state at their start: for networks with a state. Each row belongs to one of them."""

    def __init__(self, module: nn.Module, spec: ModelSpec, batch: Batch, settings: SequenceSettings) -> None:
        columns = BatchColumns(spec)
        self._module = module
        self._spec = spec
        self._rows = len(batch["kind"])
        self._device = batch["kind"].device
        self._observation = columns.leaves(batch, "observation")
        self._state = columns.leaves(batch, "state")
        counted = (batch["weight"] > 0).cpu().numpy()
        self._windows = windows(batch["kind"].cpu().numpy(), settings)
        self._counted = torch.from_numpy(counted)
        holding = [number for number, w in enumerate(self._windows) if counted[w.first : w.end].any()]
        self._units = torch.tensor(holding, dtype=torch.int64)

    @property
    def units(self) -> int:
        """Sequences that hold rows that count."""
        return len(self._units)

    def size(self, units: Tensor) -> int:
        """Returns the number of rows that count in these sequences."""
        held = [self._windows[number] for number in self._units[units].tolist()]
        return sum(int(self._counted[window.first : window.end].sum()) for window in held)

    def everything(self) -> list[Tensor]:
        """Returns what the network says to all rows; 0 to padding."""
        if not self._windows:
            shapes = [leaf.shape for leaf in self._spec.answers.leaves]
            return [torch.zeros((self._rows, *shape), device=self._device) for shape in shapes]
        answers = self._over(self._windows, torch.ones_like(self._counted))
        filled = []
        for leaf in answers.leaves:
            whole = leaf.new_zeros((self._rows, *leaf.shape[1:]))
            whole[answers.rows] = leaf
            filled.append(whole)
        return filled

    def learned(self, units: Tensor) -> Answers:
        """Returns what the network says to the rows that count in these sequences; of none every gradient is 0."""
        chosen = [self._windows[number] for number in self._units[units].tolist()]
        if not chosen:  # Other workers may have some, and each parameter takes part in what they add up.
            return self._over([Window(0, 0, 1)], torch.zeros_like(self._counted))
        return self._over(chosen, self._counted)

    def _over(self, chosen: list[Window], wanted: Tensor) -> Answers:
        """Returns what the network says to the wanted rows of some windows; their burn-in has no gradient."""
        begin, first, end = (
            torch.tensor([getattr(window, name) for window in chosen], dtype=torch.int64)
            for name in ("begin", "first", "end")
        )
        longest = int((end - begin).max())
        row = begin + torch.arange(longest)[:, None]  # [T, B]
        keep = (row >= first) & (row < end)
        row = torch.minimum(row, end - 1)  # Padding says its last row again.
        keep &= wanted[row]
        row, burn_in_ends = row.to(self._device), (first - begin).to(self._device)
        states = at(self._state, row[0])
        said: list[list[Tensor]] = []
        for tick in range(longest):
            states = [_cut_gradient(leaf, burn_in_ends == tick) for leaf in states]
            outputs, states = call(self._module, self._spec, at(self._observation, row[tick]), states)
            said.append(outputs)
        kept = keep.flatten().nonzero().squeeze(1).to(self._device)
        leaves = [torch.stack(leaf).flatten(0, 1)[kept] for leaf in zip(*said, strict=True)]
        return Answers(row.flatten()[kept], leaves)


def windows(kind: NDArray[np.int8], settings: SequenceSettings) -> list[Window]:
    """Returns the sequences of trajectories that stand one behind another; each of their rows is in one of them.

    A trajectory's bootstrap row is the last row of its last sequence. One without a step has none.

    Args:
      kind: ``RowKind`` of each row, [N]; the last one is not ``STEP``.
      settings: How they are cut.
    """
    found = []
    start = 0
    for last in np.flatnonzero(kind != RowKind.STEP).tolist():
        for first in range(start, last, settings.ticks):
            end = first + settings.ticks
            found.append(Window(max(start, first - settings.burn_in_ticks), first, last + 1 if end >= last else end))
        start = last + 1
    return found


def _cut_gradient(state: Tensor, here: Tensor) -> Tensor:
    if not state.requires_grad:
        return state
    return torch.where(here.reshape(-1, *[1] * (state.ndim - 1)), state.detach(), state)
