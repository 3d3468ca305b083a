"""The columns of a batch by the parts of a model's spec."""

from collections.abc import Mapping

from torch import Tensor

from app.models.columns import mask_columns, nested_parts
from app.models.spec import ModelSpec

Batch = Mapping[str, Tensor]
"""Columns, [N, …]."""
Masks = list[Tensor | None]
"""Allowed choices of each leaf of the action, bool [N, choices]; None where there are no choices."""


class BatchColumns:
    """Finds the leaves of observation, action, mask and state in a batch."""

    def __init__(self, spec: ModelSpec) -> None:
        self._columns = {name: part.columns(name) for name, part in nested_parts(spec).items()}
        self._masked = mask_columns(spec)

    def leaves(self, batch: Batch, part: str, prefix: str = "") -> list[Tensor]:
        """Returns the leaves of a part, each [N, …].

        Args:
          batch: Where they are found.
          part: Such as ``observation``.
          prefix: ``next_`` for those of the state reached.
        """
        return [batch[prefix + name] for name in self._columns[part]]

    def masks(self, batch: Batch, prefix: str = "") -> Masks:
        """Returns the allowed choices."""
        names = self._columns["action_mask"]
        return [batch[prefix + name] > 0 if name in self._masked else None for name in names]


def flat(batch: Batch) -> Batch:
    """Returns rows one behind another, [N, …], of a batch of them, or of sequences [K, T, …] as a table holds them.

    What a sequence has but once, such as the state in front of its first row, stands at each of its rows.
    """
    kind = batch["kind"]
    if kind.ndim == 1:
        return batch
    rows = kind.shape[1]
    once = {name for name, x in batch.items() if name.partition("/")[0] == "state" or x.shape[:2] != kind.shape}
    return {
        name: x.repeat_interleave(rows, 0) if name in once else x.flatten(0, 1).contiguous()
        for name, x in batch.items()
    }


def at(leaves: list[Tensor], rows: Tensor) -> list[Tensor]:
    """Returns these rows of each leaf."""
    return [leaf[rows] for leaf in leaves]


def masks_at(masks: Masks, rows: Tensor) -> Masks:
    """Returns these rows of each mask."""
    return [None if mask is None else mask[rows] for mask in masks]
