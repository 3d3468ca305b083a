"""What is noted of a session: an entry for each of its steps."""

from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from app.agents.unroll import Row
from app.types import Purpose, SessionId
from app.wire.trees import Tree

ENTRY_BYTES: Final = 1_000
"""Memory of an entry besides what came; a guess is enough, since it bounds and does not count."""


class Event(StrEnum):
    """What a line of a recording tells of."""

    START = "start"
    TICK = "tick"
    STOP = "stop"
    """The game core ended the episode."""
    END = "end"
    """The service ended it."""
    ROW = "row"
    """A further row to learn from of the tick beside it."""


@dataclass(frozen=True, slots=True)
class About:
    """What is the same for all of a session."""

    session: SessionId
    game: str
    agent: str
    purpose: Purpose
    seed: int
    """Of the session's random numbers."""


@dataclass(slots=True)
class Entry:
    """One step of a session."""

    event: str
    seq: int
    """Steps that the session had answered with it; 0 is the start."""
    at_s: float
    """When it came, in seconds since 1970."""
    draws: int
    """Random numbers that the session had drawn before it."""
    input: bytes | None = None
    """What came, after differences are applied; None where nothing did, or bodies are not recorded."""
    output: bytes | None = None
    error: str | None = None
    """What went wrong in its place."""
    cause: str | None = None
    """Why the episode is over, at its end."""
    version: str | None = None
    """Weights behind the answer."""
    agent_ms: float = 0.0
    """Time in the agent, the model's within."""
    model_ms: float = 0.0
    """Time until the model had decided, queues within."""
    rows: list[Row] = field(default_factory=list)
    """Rows to learn from that were decided or ended here, in order."""
    decided: Row | None = None
    """What the model decided last, as a row from which nobody learns."""
    dist_inputs: list[NDArray[np.float32]] | None = None
    """What that decision was drawn from, by the action's leaves."""

    @property
    def size(self) -> int:
        """Bytes that it takes, about: observation and answer are taken to be as large as what came."""
        return ENTRY_BYTES + 2 * len(self.input or b"")


@dataclass(frozen=True, slots=True)
class Played:
    """A session, or a part of a long one, as it is handed to be written."""

    about: About
    why: str
    """What it is recorded for: ``every``, ``asked``, or an alarm's words."""
    entries: list[Entry]


def entry_tree(entry: Entry) -> Tree:
    """Returns the fields of an entry; rows are tuples."""
    values = {name.name: getattr(entry, name.name) for name in fields(Entry)}
    plain = values | {"rows": [tuple(row) for row in entry.rows]}
    return cast("Tree", plain | {"decided": None if entry.decided is None else tuple(entry.decided)})


def entry_of(values: dict[str, Any]) -> Entry:
    """Returns the entry of ``entry_tree``."""
    decided = values["decided"]
    rows = [Row(*row) for row in values["rows"]]
    return Entry(**values | {"rows": rows, "decided": None if decided is None else Row(*decided)})
