"""What every learner does with a batch, whatever it minimises."""

from collections.abc import Mapping
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from app.errors import CheckpointError


class Learned(NamedTuple):
    """What came of one batch."""

    metrics: dict[str, float]
    """Numbers by name, the same on all workers; empty where no row counted on any of them."""
    priorities: Tensor | None = None
    """How much each row of the batch is worth being drawn again, at least 0, on the CPU, [N]; None where the learner
    does not judge them. It goes back to a prioritised table under the rows' keys."""


class Learner(Protocol):
    """Changes a network by batches, the same way on one worker and on many."""

    def update(self, batch: Mapping[str, Tensor], shuffle: torch.Generator) -> Learned:
        """Learns from a batch.

        Args:
          batch: Columns, [N, …]; rows of weight 0 are not learned from.
          shuffle: Draws all that is random in the update.

        Raises:
          NonFiniteLossError: A loss or gradient is NaN or infinite; the step that would have spread it was not taken.
        """

    def state_dict(self) -> dict[str, Tensor]:
        """Returns what the next update depends on beyond the network and its optimizer, by name."""

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Goes on from what ``state_dict`` returned.

        Raises:
          CheckpointError: It is of another learner; the message says what is missing or extra.
        """


def taken(state: Mapping[str, Tensor], wanted: Mapping[str, Tensor], what: str) -> Mapping[str, Tensor]:
    """Returns a state that fits a learner.

    Args:
      state: What was saved.
      wanted: What the learner itself would save.
      what: The learner, as a message names it.

    Raises:
      CheckpointError: Names or shapes differ.
    """
    got, allowed = ({name: tuple(x.shape) for name, x in found.items()} for found in (state, wanted))
    if got != allowed:
        wrong = ", ".join(sorted(name for name in got.keys() | allowed.keys() if got.get(name) != allowed.get(name)))
        raise CheckpointError(
            f"the state is none of {what}, wrong are {wrong}; got {sorted(got)}, allowed {sorted(allowed)}"
        )
    return state
