"""Episodes whose numbers tell each row apart, and specs for them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from app.models.distributions.categorical import Categorical
from app.models.distributions.gaussian import Gaussian
from app.models.spec import ArraySpec, ModelSpec
from app.sources.stored import Columns, Stored

FLAT = ModelSpec(ArraySpec((2,)), Categorical(4))
NESTED = ModelSpec(
    {"map": ArraySpec((2, 3, 1), "uint8"), "units": (ArraySpec((2,)), ArraySpec(()))},
    {"move": Categorical(4), "push": Gaussian((2,))},
)


def episode(steps: int, number: int = 0, *, terminated: bool = True) -> Columns:
    """Returns an episode for ``FLAT`` with the state that it reached; observations hold 100 · number + tick."""
    at = 100.0 * number + np.arange(steps + 1)
    return {
        "observation": np.stack([at, -at], axis=1).astype(np.float32),
        "action": np.arange(steps) % 4,
        "reward": np.arange(steps) + 0.5,
        "terminated": np.array([False] * (steps - 1) + [terminated]),
        "truncated": np.array([False] * (steps - 1) + [not terminated]),
    }


@dataclass(frozen=True)
class Listed:
    """A shard of episodes of these lengths."""

    name: str
    lengths: Sequence[int]
    first: int = 0

    def __iter__(self) -> Iterator[Stored]:
        for at, steps in enumerate(self.lengths):
            yield Stored(episode(steps, self.first + at), f"{self.name}, episode {at}")
