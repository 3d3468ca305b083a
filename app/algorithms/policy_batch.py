"""Rows of trajectories, and what a policy says to them."""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from app.algorithms.batch_columns import Batch, BatchColumns, at, flat, masks_at
from app.algorithms.passes import Pass, RowPass, SequencePass, SequenceSettings
from app.models.distributions.action import log_prob, log_prob_and_entropy
from app.models.spec import ModelSpec


class Said(NamedTuple):
    """What the policy says to some rows, with a gradient."""

    rows: Tensor
    """Which rows of the batch, int64 [M]."""
    log_prob: Tensor
    """Of the actions that were taken, [M]."""
    entropy: Tensor
    """[M]."""
    value: Tensor
    """[M], or [M, heads] of named rewards."""
    dist_inputs: list[Tensor]
    """Inputs of the action's distribution by leaves, each [M, …]."""


class Known(NamedTuple):
    """What the policy says to all rows before the update, without a gradient."""

    dist_inputs: list[Tensor]
    """Inputs of the action's distribution by leaves, each [N, …]."""
    value: Tensor
    """[N], or [N, heads] of named rewards."""


class PolicyBatch:
    """A batch of trajectories for a policy, with a state or without."""

    def __init__(self, module: nn.Module, spec: ModelSpec, batch: Batch, sequences: SequenceSettings | None) -> None:
        """Lays the rows out.

        Args:
          module: The network.
          spec: Its shapes.
          batch: Columns of ``app.replay.rows``, [N, …], or of ``app.replay.sequences``, [K, T, …].
          sequences: How trajectories are cut for a network with a state; None where it has none.
        """
        self.spec = spec
        self.columns = flat(batch)
        """The columns, [N, …]: rows of trajectories one behind another."""
        self._names = BatchColumns(spec)
        cut_rows = batch["kind"].shape[1] if batch["kind"].ndim > 1 else None
        self._led = _led(module, spec, self.columns, sequences, cut_rows)

    @property
    def observation(self) -> list[Tensor]:
        """Leaves of the observation, each [N, …]."""
        return self._names.leaves(self.columns, "observation")

    @property
    def units(self) -> int:
        """What minibatches are drawn from: rows, or sequences, that hold something to learn from."""
        return self._led.units

    def size(self, units: Tensor) -> int:
        """Returns the number of rows that count in these units."""
        return self._led.size(units)

    def known(self) -> Known:
        """Returns what the policy says to all rows, as it is now."""
        with torch.no_grad():
            *dist_inputs, value = self._led.everything()
        return Known(dist_inputs, value)

    def log_prob(self, dist_inputs: list[Tensor]) -> Tensor:
        """Returns the log-probability of all actions that were taken under these inputs of the distribution, [N]."""
        actions = self._names.leaves(self.columns, "action")
        return log_prob(self.spec.actions, dist_inputs, actions, self._names.masks(self.columns))

    def masks_at(self, rows: Tensor) -> list[Tensor | None]:
        """Returns what was allowed in these rows, by leaves, bool [M, choices]; None where there are no choices."""
        return masks_at(self._names.masks(self.columns), rows)

    def said(self, units: Tensor) -> Said:
        """Returns what the policy says to the rows that count in these units."""
        rows, (*dist_inputs, value) = self._led.learned(units)
        actions = at(self._names.leaves(self.columns, "action"), rows)
        found, entropy = log_prob_and_entropy(self.spec.actions, dist_inputs, actions, self.masks_at(rows))
        return Said(rows, found, entropy, value, dist_inputs)


def _led(
    module: nn.Module, spec: ModelSpec, batch: Batch, sequences: SequenceSettings | None, cut_rows: int | None
) -> Pass:
    if sequences is None or not len(spec.states):
        return RowPass(module, spec, batch)
    if cut_rows is not None:  # It is cut already: there is a stored state at its beginning alone.
        sequences = SequenceSettings(cut_rows, 0)
    return SequencePass(module, spec, batch, sequences)
