from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from app.replay.limiters import MinSize, Queue, SamplesPerInsert
from app.replay.max_age import MaxAge
from app.replay.removers import RemoveLowestPriority, RemoveOldest, RemoveUniform
from app.replay.sample import Keys
from app.replay.samplers import NewestFirst, OldestFirst, Prioritized, UniformSampler
from app.replay.table import Table
from app.replay.table_stats import Removal
from app.types import Version

COLUMNS = {name: (np.dtype(np.int64), ()) for name in ("number", "generation", "version")}
NEVER_OLD = 10**9

SAMPLERS = {
    "oldest": OldestFirst,
    "newest": NewestFirst,
    "uniform": UniformSampler,
    "prioritized": lambda: Prioritized(0.7, 0.01),
}
REMOVERS = {"oldest": RemoveOldest, "uniform": RemoveUniform, "lowest": RemoveLowestPriority}


@dataclass(frozen=True)
class Shape:
    """A table that the constructor allows."""

    capacity: int
    sampler: str
    remover: str
    limiter: str
    largest: int
    min_size: int
    ratio_tenths: int
    """Samples per insert, times 10."""
    max_reuse: int | None
    age_inserts: int | None
    age_versions: int | None

    @property
    def low_tenths(self) -> int:
        """Ten times the least diff: whole numbers, so that the reference does not round."""
        return self.ratio_tenths * self.min_size - self.width_tenths

    @property
    def high_tenths(self) -> int:
        return self.ratio_tenths * self.min_size + self.width_tenths

    @property
    def width_tenths(self) -> int:
        return max(10, self.ratio_tenths, (10 * self.largest + self.ratio_tenths + 1) // 2)

    def make(self, seed: int) -> Table:
        limiters = {
            "min": lambda: MinSize(self.min_size),
            "queue": lambda: Queue(self.min_size),
            "ratio": lambda: SamplesPerInsert(self.ratio_tenths / 10, self.min_size, self.width_tenths / 10),
        }
        no_age = self.age_inserts is None and self.age_versions is None
        return Table(
            COLUMNS,
            self.capacity,
            sampler=SAMPLERS[self.sampler](),
            remover=REMOVERS[self.remover](),
            limiter=limiters[self.limiter](),
            largest_sample_rows=self.largest,
            rng=np.random.default_rng(seed),
            max_reuse=self.max_reuse,
            max_age=None if no_age else MaxAge(self.age_inserts, self.age_versions),
        )


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    limiter = draw(st.sampled_from(["min", "ratio", "queue"]))
    min_size = draw(st.integers(1, 8))
    max_reuse = 1 if limiter == "queue" else draw(st.none() | st.integers(1, 3))
    ratio = draw(st.sampled_from([3, 5, 10, 15, 20, 30]))
    return Shape(
        capacity=min_size + draw(st.integers(0, 6)),
        sampler=draw(st.sampled_from(sorted(SAMPLERS))),
        remover=draw(st.sampled_from(sorted(REMOVERS))),
        limiter=limiter,
        largest=draw(st.integers(1, min_size)),
        min_size=min_size,
        ratio_tenths=ratio if max_reuse is None else min(ratio, 10 * max_reuse),
        max_reuse=max_reuse,
        age_inserts=draw(st.none() | st.integers(min_size, 20)),
        age_versions=draw(st.none() | st.integers(0, 3)),
    )


@dataclass
class Row:
    priority: float
    version: int
    sampled: int = 0


class TableMachine(RuleBasedStateMachine):
    """A table against a dict from the number of each row held to what is known of it."""

    @initialize(shape=shapes(), seed=st.integers(0, 9))
    def begin(self, shape: Shape, seed: int) -> None:
        self.shape, self.seed, self.table = shape, seed, shape.make(seed)
        self.rows: dict[int, Row] = {}
        self.removed = dict.fromkeys(Removal, 0)
        self.inserted = self.sampled = self.ignored = self.newest = 0
        self.knows_version = False
        self.highest: float | None = None
        self.keys = [Keys(np.zeros(0, np.intp), np.zeros(0, np.int64))]

    # What the limiter allows, one row after another.

    def may_insert(self, more: int) -> bool:
        held = len(self.rows) + more
        if self.shape.limiter == "queue":
            return held <= self.shape.min_size
        diff_tenths = self.shape.ratio_tenths * (self.inserted + more) - 10 * self.sampled
        return self.shape.limiter == "min" or held <= self.shape.min_size or diff_tenths <= self.shape.high_tenths

    def may_sample(self, rows: int) -> bool:
        needs_each = self.shape.sampler in ("oldest", "newest") or self.shape.max_reuse is not None
        if len(self.rows) < (rows if needs_each else 1):
            return False
        if self.shape.limiter == "queue":
            return True
        diff_tenths = self.shape.ratio_tenths * self.inserted - 10 * (self.sampled + rows)
        enough = len(self.rows) >= self.shape.min_size
        return enough and (self.shape.limiter == "min" or diff_tenths >= self.shape.low_tenths)

    def too_old(self, number: int) -> bool:
        limit = NEVER_OLD if self.shape.age_inserts is None else self.shape.age_inserts
        return self.inserted - 1 - number > limit

    def behind(self, row: Row) -> bool:
        if self.shape.age_versions is None or not self.knows_version:
            return False
        return self.newest - row.version > self.shape.age_versions

    def held_numbers(self) -> set[int]:
        return {int(number) for number in self.table.state_dict()["row/number"]}

    @rule(size=st.integers(0, 9), lag=st.integers(0, 4), given=st.none() | st.lists(st.integers(0, 5), min_size=9))
    def insert(self, size: int, lag: int, given: list[int] | None) -> None:
        size = min(size, self.shape.capacity)
        version = max(0, self.newest - lag)
        first = 1.0 if self.highest is None else self.highest
        priorities = [first] * size if given is None else [float(number) for number in given[:size]]
        rows = {
            "number": np.arange(self.inserted, self.inserted + size),
            "generation": np.ones(size, np.int64),
            "version": np.full(size, version),
        }
        expected = next(more for more in range(size, -1, -1) if more == 0 or self.may_insert(more))
        taken = self.table.insert(rows, None if given is None else np.array(priorities))
        assert taken == expected
        if given is not None and taken:
            self.highest = max([*priorities[:taken], self.highest or 0.0])
        self.leave_room(taken)
        self.rows |= {self.inserted + at: Row(priorities[at], version) for at in range(taken)}
        new, self.inserted = range(self.inserted, self.inserted + taken), self.inserted + taken
        self.age(new)
        assert len(self.rows) <= self.shape.min_size or self.shape.limiter != "ratio" or not taken or (
            self.shape.ratio_tenths * self.inserted - 10 * self.sampled <= self.shape.high_tenths
        )  # fmt: skip

    def leave_room(self, taken: int) -> None:
        """Lets go of the rows that the table overwrote, after checking that it chose as it must."""
        lacking = max(0, len(self.rows) + taken - self.shape.capacity)
        now = self.held_numbers()
        gone = [number for number in self.rows if number not in now]
        if self.shape.remover == "oldest":
            gone = sorted(self.rows)[:lacking]
        elif self.shape.age_inserts is not None:  # Of the rows that are gone, some may have been too old instead.
            survivors = [number for number in gone if self.inserted + taken - 1 - number <= self.shape.age_inserts]
            assert len(survivors) <= lacking <= len(gone)
            others = sorted(set(gone) - set(survivors), key=lambda number: self.rows[number].priority)
            gone = survivors + others[: lacking - len(survivors)]
        assert len(gone) == lacking
        if self.shape.remover == "lowest":
            lowest = sorted(row.priority for row in self.rows.values())[:lacking]
            assert sorted(self.rows[number].priority for number in gone) == lowest
        for number in gone:
            del self.rows[number]
        self.removed[Removal.OVERWRITTEN] += lacking

    def age(self, numbers: range | list[int]) -> None:
        for number in [number for number in numbers if self.behind(self.rows[number])]:
            del self.rows[number]
            self.removed[Removal.OLD_BY_VERSIONS] += 1
        for number in [number for number in self.rows if self.too_old(number)]:
            del self.rows[number]
            self.removed[Removal.OLD_BY_INSERTS] += 1

    @rule(data=st.data())
    def sample(self, data: st.DataObject) -> None:
        self.take(data.draw(st.integers(1, self.shape.largest)))

    @rule()
    def sample_as_much_as_is_allowed(self) -> None:
        self.take(self.shape.largest)

    def take(self, size: int) -> None:
        expected = self.may_sample(size)
        assert self.table.can_sample(size) == expected
        sample = self.table.sample(size)
        assert (sample is not None) == expected
        if sample is None:
            return
        assert sample.table_rows == len(self.rows)
        numbers = sample.keys.numbers.tolist()
        assert sample.rows["number"].tolist() == numbers
        assert [self.rows[number].version for number in numbers] == sample.rows["version"].tolist()
        assert len(numbers) == size
        if self.shape.sampler in ("oldest", "newest"):
            assert numbers == sorted(self.rows, reverse=self.shape.sampler == "newest")[:size]
        if self.shape.sampler == "prioritized" and self.shape.max_reuse is None:
            mass = {number: (row.priority + 0.01) ** 0.7 for number, row in self.rows.items()}
            chances = [mass[number] / sum(mass.values()) for number in numbers]
            assert sample.probabilities.tolist() == pytest.approx(chances, rel=1e-9)
        self.sampled += size
        self.keys.append(sample.keys)
        for number in numbers:
            self.rows[number].sampled += 1
        if self.shape.max_reuse is not None:
            assert all(self.rows[number].sampled <= self.shape.max_reuse for number in numbers)
            for number in [number for number, row in self.rows.items() if row.sampled == self.shape.max_reuse]:
                del self.rows[number]
                self.removed[Removal.REUSED] += 1
        diff_tenths = self.shape.ratio_tenths * self.inserted - 10 * self.sampled
        assert self.shape.limiter != "ratio" or diff_tenths >= self.shape.low_tenths

    @rule(data=st.data())
    def update(self, data: st.DataObject) -> None:
        keys = data.draw(st.sampled_from(self.keys))
        size = len(keys.numbers)
        priorities = data.draw(st.lists(st.integers(0, 9).map(float), min_size=size, max_size=size))
        gone = [number for number in keys.numbers.tolist() if number not in self.rows]
        assert self.table.update(keys, np.array(priorities, float)) == len(gone)
        self.ignored += len(gone)
        for number, priority in zip(keys.numbers.tolist(), priorities, strict=True):
            if number in self.rows:
                self.rows[number].priority = priority
                self.highest = max(priority, self.highest or 0.0)

    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        keys = data.draw(st.sampled_from(self.keys))
        numbers = {number for number in keys.numbers.tolist() if number in self.rows}
        assert self.table.delete(keys) == len(numbers)
        for number in numbers:
            del self.rows[number]
        self.removed[Removal.DELETED] += len(numbers)

    @precondition(lambda self: self.newest < 12)
    @rule(ahead=st.integers(0, 2))
    def advance(self, ahead: int) -> None:
        self.newest += ahead
        before = len(self.rows)
        gone = self.table.advance(Version(1, self.newest))
        if self.shape.age_versions is not None or self.shape.age_inserts is not None:
            self.knows_version = True
        self.age(list(self.rows))
        assert before - len(self.rows) == gone

    @rule()
    def restore(self) -> None:
        other = self.shape.make(self.seed + 1)
        other.load_state_dict(self.table.state_dict())
        self.table = other

    @invariant()
    def every_row_is_held_or_removed_for_a_reason(self) -> None:
        stats = self.table.stats()
        assert len(self.table) == stats.held == len(self.rows) <= self.shape.capacity
        assert stats.removed == self.removed
        assert stats.inserted == self.inserted == stats.held + sum(stats.removed.values())
        assert (stats.sampled, stats.updates_ignored) == (self.sampled, self.ignored)
        if self.rows:
            assert stats.mean_age_inserts == pytest.approx(self.inserted - 1 - sum(self.rows) / len(self.rows))
        state = self.table.state_dict()
        priorities = dict(zip(state["row/number"].tolist(), state["priorities"].tolist(), strict=True))
        assert len(priorities) == len(self.rows)
        assert priorities == {number: row.priority for number, row in self.rows.items()}

    @invariant()
    def a_queue_holds_what_was_neither_sampled_nor_removed_otherwise(self) -> None:
        if self.shape.limiter == "queue":
            assert self.removed[Removal.REUSED] == self.sampled
            assert self.removed[Removal.OVERWRITTEN] == 0
            assert len(self.rows) <= self.shape.min_size

    @invariant()
    def inserts_and_samples_never_wait_for_each_other(self) -> None:
        assert self.table.insertable_rows() >= 1 or self.table.can_sample(self.shape.largest)


TableMachine.TestCase.settings = settings(max_examples=20, stateful_step_count=20, deadline=None)
TestTable = TableMachine.TestCase
