"""What the trajectories of a table's config are cut into."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from app.config.tables import TableConfig, TransitionItem
from app.replay.n_step import n_step, transition_columns
from app.replay.rows import Columns
from app.replay.sequences import Sequences
from app.types import Rows


@dataclass(frozen=True, slots=True)
class Items:
    """What trajectories are cut into."""

    columns: Callable[[Columns], Columns]
    """Returns the columns of items made of rows with these columns."""
    cut: Callable[[Rows], Rows]
    """Returns the items of whole trajectories."""


def items_of(table: TableConfig) -> Items:
    """Returns what a table keeps.

    Raises:
      ValueError: Sequences would never learn from some steps.
    """
    item = table.item
    if isinstance(item, TransitionItem):
        return Items(transition_columns, partial(n_step, steps=item.steps, gamma=item.gamma))
    sequences = Sequences(item.rows, item.overlap_rows, item.burn_in_rows, item.burn_in_at_start)
    return Items(sequences.columns, sequences.cut)
