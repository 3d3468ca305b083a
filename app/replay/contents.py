"""The rows of a table, kept in step: what they are, where they stand, and what sampler and remover know of them."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from app.errors import CheckpointError
from app.replay.ancestry import NO_ANCESTRY, Ancestry
from app.replay.held import Held
from app.replay.max_age import MaxAge
from app.replay.reuse import occurrences
from app.replay.rows import Columns
from app.replay.sample import Keys
from app.replay.selectors import Draw, Remover, Sampler, Selector
from app.replay.storage import Storage
from app.replay.table_stats import Removal
from app.types import Arrays, Rows, Version

ROW: Final = "row/"
REMOVED: Final = "removed/"
"""What the names of columns and of reasons begin with in a saved table."""


class Contents:
    """Adds, draws and removes rows, and counts why each one left."""

    def __init__(
        self,
        columns: Columns,
        capacity_rows: int,
        sampler: Sampler,
        remover: Remover,
        rng: np.random.Generator,
        max_reuse: int | None,
        max_age: MaxAge | None,
    ) -> None:
        self.storage = Storage(columns, capacity_rows)
        self.held = Held(capacity_rows)
        self.removed = dict.fromkeys(Removal, 0)
        self.newest: Version | None = None
        """Newest version known; None before the first."""
        self.ancestry = NO_ANCESTRY
        """What generations went on from, as far as it is known."""
        self._sampler, self._remover, self._rng = sampler, remover, rng
        self._max_reuse, self._max_age = max_reuse, max_age
        self._selectors: tuple[Selector, ...] = (sampler, remover)
        for selector in self._selectors:
            selector.begin(capacity_rows)

    def add(self, rows: Rows, priorities: NDArray[np.float64]) -> None:
        """Takes at most as many rows as there are slots; others leave to make room."""
        lacking = len(priorities) - self.held.free
        if lacking > 0:
            self.remove(self._remover.choose(self.held, lacking, self._rng), Removal.OVERWRITTEN)
        slots = self.held.add(priorities)
        self.storage.write(slots, rows)
        self._tell(slots)
        if self._max_age is not None:
            if self.newest is not None:
                self.remove(self._too_old(slots, self._max_age, self.newest), Removal.OLD_BY_VERSIONS)
            self.remove(self._max_age.by_inserts(self.held), Removal.OLD_BY_INSERTS)

    def draw(self, rows: int) -> tuple[Draw, Keys]:
        """Returns so many rows and their names; those that were sampled often enough leave at once."""
        if self._max_reuse is None:
            draw = self._sampler.draw(self.held, rows, self._rng)
            return draw, Keys(draw.slots, self.held.numbers[draw.slots])
        parts: list[tuple[NDArray[np.intp], NDArray[np.float64], NDArray[np.int64]]] = []
        while rows:  # As one by one: what has left is drawn no more, and each round draws at least one row.
            draw = self._sampler.draw(self.held, rows, self._rng)
            allowed = self.held.sampled[draw.slots] + occurrences(draw.slots) < self._max_reuse
            slots = draw.slots[allowed]
            parts.append((slots, draw.probabilities[allowed], self.held.numbers[slots]))
            np.add.at(self.held.sampled, slots, 1)
            self.remove(np.unique(slots[self.held.sampled[slots] >= self._max_reuse]), Removal.REUSED)
            rows -= len(slots)
        slots, probabilities, numbers = (np.concatenate(part) for part in zip(*parts, strict=True))
        return Draw(slots, probabilities), Keys(slots, numbers)

    def remove(self, slots: NDArray[np.intp], reason: Removal) -> None:
        """Lets go of rows, which are held and distinct, [N]."""
        if len(slots):
            self.held.remove(slots)
            for selector in self._selectors:
                selector.removed(slots)
            self.removed[reason] += len(slots)

    def has(self, keys: Keys) -> NDArray[np.bool_]:
        """Returns which of these rows are still held, [N]."""
        same: NDArray[np.bool_] = self.held.numbers[keys.slots] == keys.numbers
        return same & (keys.numbers >= 0)

    def prioritize(self, slots: NDArray[np.intp], priorities: NDArray[np.float64]) -> None:
        """Gives rows that are held new priorities, [N]; of several for one row the last counts."""
        self.held.priorities[slots] = priorities
        self._tell(slots)

    def advance(self, newest: Version, ancestry: Ancestry) -> int:
        """Notes the newest version; returns how many rows left because it made them too old."""
        if self._max_age is None or (self.newest is not None and newest <= self.newest):
            return 0
        self.newest, self.ancestry = newest, self.ancestry.joined(ancestry)
        slots = self._too_old(self.held.slots, self._max_age, newest)
        self.remove(slots, Removal.OLD_BY_VERSIONS)
        return len(slots)

    def state_dict(self) -> Arrays:
        """Returns all that what comes depends on, but for the generator; copies."""
        rows = {ROW + name: column for name, column in self.storage.gather(self.held.slots).items()}
        removed = {REMOVED + reason: np.array(count) for reason, count in self.removed.items()}
        newest = {} if self.newest is None else {"newest": np.array(self.newest)}
        return self.held.state_dict() | rows | removed | newest | self.ancestry.state_dict()

    def load_state_dict(self, state: Arrays) -> None:
        """Takes over the rows of another table in place of its own.

        Raises:
          CheckpointError: It has another capacity or other columns.
        """
        rows = {name.removeprefix(ROW): column for name, column in state.items() if name.startswith(ROW)}
        try:
            self.storage.check(rows)
        except ValueError as error:
            raise CheckpointError(f"a table cannot take over another: {error}") from error
        self.held.load_state_dict(state)
        self.storage.write(self.held.slots, rows)
        self.removed = {reason: int(state[REMOVED + reason]) for reason in Removal}
        self.newest = Version(*state["newest"].tolist()) if "newest" in state else None
        self.ancestry = Ancestry.of_state(state)
        for selector in self._selectors:
            selector.begin(self.held.capacity_rows)
        self._tell(self.held.slots)
        if self._max_reuse is not None:  # The other table may have allowed more.
            spent = self.held.sampled[self.held.slots] >= self._max_reuse
            self.remove(self.held.slots[spent], Removal.REUSED)

    def _too_old(self, slots: NDArray[np.intp], max_age: MaxAge, newest: Version) -> NDArray[np.intp]:
        return max_age.by_versions(self.storage, slots, newest, self.ancestry)

    def _tell(self, slots: NDArray[np.intp]) -> None:
        priorities = self.held.priorities[slots]
        for selector in self._selectors:
            selector.added(slots, priorities)
