"""How old rows are that were played before the trainer was started again."""

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from app.types import Arrays, Version

REMEMBERED: Final = 100
"""Newest generations whose origin is known: more starts than the rows of a table outlive."""
UNRELATED: Final = 2**62
"""Age of rows whose weights have nothing to do with the present ones."""
STATE: Final = "ancestry"
"""Name of the origins in a saved table."""


class Origin(NamedTuple):
    """What a generation went on from."""

    generation: int
    version: Version
    """Of an earlier generation: the new one publishes its weights as number 0."""


@dataclass(frozen=True, slots=True)
class Ancestry:
    """What generations of a trainer went on from; those that began anew have no origin.

    So generations are the branches of a tree, and the age of a row is the number of updates on the way from the version
    that acted to the newest: back to where the branches part, and forward from there. A row that was played after the
    checkpoint that training went on from is counted back over the updates that are lost.
    """

    origins: tuple[Origin, ...] = ()
    """Sorted by generation."""

    def joined(self, other: "Ancestry") -> "Ancestry":
        """Returns what both know; of too many generations the oldest are forgotten."""
        return Ancestry(tuple(sorted({*self.origins, *other.origins})[-REMEMBERED:]))

    def ages(
        self, generations: NDArray[np.integer], numbers: NDArray[np.integer], newest: Version
    ) -> NDArray[np.int64]:
        """Returns the published versions between the policy of each row and the newest, [N].

        A row of the newest generation is younger than 0 where its version is newer than the newest known, and one of a
        later generation is of age 0. One whose branch has nothing in common with the newest is ``UNRELATED``.

        Args:
          generations: Of the version that acted, [N].
          numbers: Of that version, [N].
          newest: Newest published version.
        """
        ages = np.zeros(len(numbers), np.int64)
        way = self._way(newest)
        for generation in np.unique(generations).tolist():
            of_it = generations == generation
            ages[of_it] = self._ages_of(generation, numbers[of_it].astype(np.int64), newest, way)
        return ages

    def state_dict(self) -> Arrays:
        """Returns it as an array, [origins, 3]; nothing where nothing is known."""
        return {STATE: np.array(self.as_lists(), np.int64)} if self.origins else {}

    def as_lists(self) -> list[list[int]]:
        """Returns generation, and generation and number of what it went on from, of each origin."""
        return [[origin.generation, *origin.version] for origin in self.origins]

    @classmethod
    def of_state(cls, state: Arrays) -> "Ancestry":
        """Returns what ``state_dict`` was made of; other names in it are left alone."""
        return cls.of_lists(state[STATE].tolist()) if STATE in state else cls()

    @classmethod
    def of_lists(cls, lists: list[list[int]]) -> "Ancestry":
        """Returns what ``as_lists`` was made of."""
        return cls(tuple(Origin(generation, Version(*version)) for generation, *version in lists))

    def _ages_of(
        self, generation: int, numbers: NDArray[np.int64], newest: Version, way: dict[int, tuple[int, int]]
    ) -> NDArray[np.int64]:
        if generation == newest.generation:
            return newest.number - numbers
        if generation > newest.generation:
            return np.zeros_like(numbers)
        back = np.zeros_like(numbers)
        while generation not in way:
            origin = self._origin(generation)
            if origin is None:
                return np.full_like(numbers, UNRELATED)
            back, numbers = back + numbers, np.full_like(numbers, origin.number)
            generation = origin.generation
        parted_at, forward = way[generation]
        return back + np.abs(parted_at - numbers) + forward

    def _way(self, newest: Version) -> dict[int, tuple[int, int]]:
        """Returns by generation, back from the newest, where the way leaves it and how many updates follow."""
        way, at, forward = {newest.generation: (newest.number, 0)}, newest, 0
        while (origin := self._origin(at.generation)) is not None:
            forward += at.number
            way[origin.generation] = (origin.number, forward)
            at = origin
        return way

    def _origin(self, generation: int) -> Version | None:
        """Returns what a generation went on from, which is of an earlier one."""
        found = next((origin.version for origin in self.origins if origin.generation == generation), None)
        return found if found is not None and found.generation < generation else None


NO_ANCESTRY: Final = Ancestry()
"""Of weights that began anew."""
