"""What happens in one session, in memory: all its ticks while it is recorded, else the last ones or none."""

import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Final, cast

import numpy as np

from app.agents.game_entries import About, Entry, Event, Played, entry_of, entry_tree
from app.agents.unroll import Row
from app.models.question import Decision, Question
from app.seeding import Draws
from app.types import RowKind
from app.wire.trees import Tree

__all__ = ["About", "Entry", "Event", "GameLog", "Memory", "Played"]

MIB: Final = 2**20


class Memory:
    """Bounds what the logs of one agent in one replica hold of games that nobody has asked for."""

    def __init__(self, max_mb: float) -> None:
        self.max_bytes = max_mb * MIB
        self.used_bytes = 0


class GameLog:
    """Notes one session's steps; on the loop alone.

    It is dormant, and costs next to nothing, until the session is kept: from its start, or from when an operator or
    an alarm asks. With ``keep_ticks`` it notes from the start, and forgets all but the last ticks until it is kept.
    """

    def __init__(
        self,
        about: About,
        rng: Draws,
        take: Callable[[Played], None],
        *,
        part_ticks: int,
        keep_ticks: int | None = None,
        memory: Memory | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Begins dormant, or with the last ticks.

        Args:
          about: The session.
          rng: Its random numbers.
          take: Takes what is to be written; never waits.
          part_ticks: Entries of a part.
          keep_ticks: Last ticks that are held of a game that nobody has asked for; None holds none.
          memory: Bounds them; None where there are none.
          clock: Returns seconds since 1970.
        """
        self.about = about
        self.why: str | None = None
        """What it is kept for; None: it is not."""
        self.active = keep_ticks is not None
        """Whether steps are noted."""
        self.part_ticks = part_ticks
        self.keep_ticks = keep_ticks
        self._rng, self._take, self._clock = rng, take, clock
        self._memory = memory or Memory(0)
        self._entries: deque[Entry] = deque()
        self._first = 0
        """Place of the oldest entry held."""
        self._held_bytes = 0
        self._answered = 0

    @property
    def place(self) -> int:
        """Returns where the present entry stands."""
        return self._first + len(self._entries) - 1

    def keep(self, why: str) -> None:
        """Has the game written at its end, with the last ticks that are held; the first reason stays."""
        if self.why is None:
            self.why, self.active = why, True
            self._give_back()

    def begin(self, event: Event, body: bytes | None) -> Entry:
        """Returns the entry of a step that begins."""
        if self.why is not None and len(self._entries) >= 2 * self.part_ticks:  # No row has ended a part before.
            self._hand_over(len(self._entries))
        seq = 0 if event is Event.START else self._answered + 1
        entry = Entry(event.value, seq, self._clock(), self._rng.count, body)
        self._entries.append(entry)
        if self.why is None:
            self._hold(entry.size)
        return entry

    def answered(self, entry: Entry) -> None:
        """Notes that a step was answered."""
        self._answered = entry.seq

    def passed(self) -> None:
        """Notes that a step was answered while the log was dormant."""
        self._answered += 1

    def skip(self, missed: int | None) -> None:
        """Notes that steps are missing; None: nobody knows how many."""
        self._answered += missed or 0

    def decided(self, question: Question, decision: Decision, model_ms: float) -> None:
        """Notes what the model decided in the present step."""
        if not self._entries:
            return
        entry = self._entries[-1]
        action, log_prob, value, version, _, target, dist_inputs = decision
        nothing = np.zeros_like(value) if isinstance(value, np.ndarray) else 0.0
        entry.decided = Row(
            question.observation, action, question.mask, question.state, nothing, log_prob, value, int(RowKind.LOST),
            0.0, version.generation, version.number, 0, 0, target,
        )  # fmt: skip
        entry.dist_inputs = dist_inputs
        entry.model_ms += model_ms

    def rows(self, steps: Iterator[tuple[int | None, Row]], end: Row) -> None:
        """Notes the rows of a trajectory, each at the entry in which it was decided, and its end in the present one.

        Args:
          steps: Place and row; rows of entries that are no longer held are left out.
          end: The bootstrap row.
        """
        for place, row in steps:
            at = -1 if place is None else place - self._first
            if 0 <= at < len(self._entries):
                self._entries[at].rows.append(row)
        if self._entries:
            self._entries[-1].rows.append(end)
            if self.why is not None and end.kind == RowKind.FULL and len(self._entries) > 1:
                self._hand_over_but_last(end)

    def end(self) -> None:
        """Hands the game over where it is kept, and forgets it else."""
        if self.why is not None:
            self._hand_over(len(self._entries))
        self._give_back()
        self._entries.clear()
        self.active = False

    def __del__(self) -> None:
        """Gives back the memory of a session that goes on elsewhere."""
        self._give_back()

    def state_dict(self) -> Tree:
        """Returns what goes on with the session in another replica."""
        entries: Tree = [entry_tree(entry) for entry in self._entries]
        return {"why": self.why, "first": self._first, "answered": self._answered, "entries": entries}

    def load_state_dict(self, state: Tree) -> None:
        """Takes over what another replica has noted."""
        held = cast("dict[str, Any]", state)
        self.why = held["why"] if self.why is None else self.why
        self.active = self.active or self.why is not None
        self._first, self._answered = held["first"], held["answered"]
        for values in held["entries"]:
            self._entries.append(entry_of(values))
            if self.why is None:
                self._hold(self._entries[-1].size)

    def _hold(self, size: int) -> None:
        """Forgets the oldest entries until what is held is allowed; the present one stays."""
        self._held_bytes += size
        self._memory.used_bytes += size
        most = self.keep_ticks or 1
        while len(self._entries) > 1 and (
            len(self._entries) > most or self._memory.used_bytes > self._memory.max_bytes
        ):
            freed = self._entries.popleft().size
            self._first += 1
            self._held_bytes -= freed
            self._memory.used_bytes -= freed

    def _give_back(self) -> None:
        self._memory.used_bytes -= self._held_bytes
        self._held_bytes = 0

    def _hand_over(self, count: int) -> None:
        if count and self.why is not None:
            self._take(Played(self.about, self.why, [self._entries.popleft() for _ in range(count)]))
            self._first += count

    def _hand_over_but_last(self, end: Row) -> None:
        """Hands over all before the present entry, and behind it the row that ends their trajectory."""
        now = self._entries.pop()
        now.rows.pop()
        self._entries.append(Entry(Event.ROW.value, now.seq, now.at_s, now.draws, rows=[end]))
        self._hand_over(len(self._entries))
        self._first -= 1  # The row's own entry had no place.
        self._entries.append(now)
