"""The learners of a trainer, one for each of its inputs; all of them change the same network."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from app.algorithms.contract import Learned, Learner
from app.errors import CheckpointError
from train.together import Part, Shared, update_together


class Given(NamedTuple):
    """What a learner is to learn from."""

    at: int
    """Place of its input."""
    batch: Mapping[str, Tensor]
    shuffle: torch.Generator


class Learners:
    """Lets them work alone or together, and saves and restores them as one."""

    def __init__(self, learners: Sequence[Learner], steppers: Sequence[Shared] = ()) -> None:
        """Keeps them.

        Args:
          learners: By input.
          steppers: Of each of them, where they may learn together.
        """
        self._learners = tuple(learners)
        self._steppers = tuple(steppers)

    def update(self, given: Sequence[Given]) -> list[Learned]:
        """Returns what came of an update on batches of these inputs, in their order."""
        if len(given) == 1:
            return [self._learners[given[0].at].update(given[0].batch, given[0].shuffle)]
        parts = [Part(self._learners[at], batch, shuffle) for at, batch, shuffle in given]
        return update_together(parts, [self._steppers[one.at] for one in given])

    def __getitem__(self, at: int) -> Learner:
        """Returns the learner of an input."""
        return self._learners[at]

    def state_dict(self) -> dict[str, Tensor]:
        """Returns what the next updates depend on beyond the network and its optimizer; in front, the input's place."""
        return {f"{at}.{name}": x for at, one in enumerate(self._learners) for name, x in one.state_dict().items()}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Goes on from what ``state_dict`` returned.

        Raises:
          CheckpointError: It is of other learners.
        """
        parts: list[dict[str, Tensor]] = [{} for _ in self._learners]
        for name, value in state.items():
            at, _, own = name.partition(".")
            if not at.isdecimal() or int(at) >= len(parts):
                raise CheckpointError(f"the state {name!r} is of an input that there is not; there are {len(parts)}")
            parts[int(at)][own] = value
        for one, part in zip(self._learners, parts, strict=True):
            one.load_state_dict(part)
