"""Recurrent layers whose state games carry from tick to tick."""

from abc import abstractmethod
from typing import NamedTuple

import torch
from torch import Tensor, nn

State = dict[str, Tensor]
"""State of a batch of games, each [B, units]."""


class Remembered(NamedTuple):
    """What a memory gives."""

    features: Tensor
    """[B, units], or [T, B, units] behind ``unroll``."""
    state: State
    """State after the tick, or after the last one."""


class Memory(nn.Module):
    """Maps features and a state to features and the next state, one tick a call; a game begins with zeros."""

    def __init__(self, units: int, parts: tuple[str, ...]) -> None:
        super().__init__()
        self.units = units
        self.parts = parts
        """Names of the arrays of the state, each [units]."""

    @abstractmethod
    def forward(self, features: Tensor, state: State) -> Remembered:
        """Returns the features [B, units] of one tick, and the state behind it."""

    def unroll(self, features: Tensor, state: State, reset: Tensor) -> Remembered:
        """Returns the features of many ticks, [T, B, units], exactly as tick by tick.

        Args:
          features: What each tick shows, [T, B, inputs].
          state: State before the first tick, each [B, units].
          reset: Where a tick is the first of its episode: the state before it is zeros, bool [T, B].

        Raises:
          ValueError: The shapes do not fit.
        """
        if features.shape[:2] != reset.shape or reset.dtype != torch.bool or not len(reset):
            raise ValueError(
                f"unroll needs features [T, B, inputs] and reset bool [T, B], "
                f"got {tuple(features.shape)} and {reset.dtype} {tuple(reset.shape)}"
            )
        seen = []
        for feature, is_first in zip(features, reset, strict=True):
            # Not by a product: what is forgotten may be NaN or infinite.
            state = {name: part.masked_fill(is_first[:, None], 0.0) for name, part in state.items()}
            out, state = self(feature, state)
            seen.append(out)
        return Remembered(torch.stack(seen), state)


class Lstm(Memory):
    """Long short-term memory (Hochreiter & Schmidhuber, 1997), https://doi.org/10.1162/neco.1997.9.8.1735."""

    def __init__(self, inputs: int, units: int) -> None:
        super().__init__(units, ("cell", "hidden"))
        self.cell = nn.LSTMCell(inputs, units)

    def forward(self, features: Tensor, state: State) -> Remembered:
        """Returns the features [B, units] of one tick, and the state behind it."""
        hidden, cell = self.cell(features, (state["hidden"], state["cell"]))
        return Remembered(hidden, {"cell": cell, "hidden": hidden})


class Gru(Memory):
    """Gated recurrent unit (Cho et al., 2014), https://arxiv.org/abs/1406.1078."""

    def __init__(self, inputs: int, units: int) -> None:
        super().__init__(units, ("hidden",))
        self.cell = nn.GRUCell(inputs, units)

    def forward(self, features: Tensor, state: State) -> Remembered:
        """Returns the features [B, units] of one tick, and the state behind it."""
        hidden = self.cell(features, state["hidden"])
        return Remembered(hidden, {"hidden": hidden})
