"""Pages of open sessions: in the order of their ids, so that the pages of several replicas merge into one."""

import asyncio
import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import islice
from operator import itemgetter
from typing import Any, Final, Protocol

from app.errors import BadRequestError
from app.sessions.ids import agent_of, game_of
from app.types import Purpose, SessionId

PAGE_DEFAULT: Final = 100
PAGE_MAX: Final = 1_000
"""Sessions of one page: what a replica lists without a noticeable pause."""
ROWS_MAX: Final = 20_000
"""Rows that other replicas send for one page, all together: they are looked into where games are answered."""


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """One open session as an operator sees it."""

    id: SessionId
    game: str
    agent: str
    """Name at the end of the id, or that of the actor's first agent."""
    purpose: str
    seq: int
    """Steps answered."""
    idle_s: float
    """Seconds since its last step ended; 0 while one runs."""
    replica: str

    def as_dict(self) -> dict[str, Any]:
        """Returns the summary as a JSON object."""
        return asdict(self)


_FIELDS: Final = frozenset(field.name for field in fields(SessionSummary))


@dataclass(frozen=True, slots=True)
class Query:
    """Which sessions are wanted."""

    limit: int = PAGE_DEFAULT
    after: SessionId = ""
    """Last id of the page before."""
    game: str | None = None
    purpose: str | None = None

    def matches(self, session: SessionId, purpose: str) -> bool:
        """Returns whether a session is on this page or a later one."""
        if session <= self.after or self.purpose not in (None, purpose):
            return False
        return self.game is None or game_of(session) == self.game

    def share(self, replicas: int) -> "Query":
        """Returns what each of so many other replicas is asked for, so that all together send no more than allowed."""
        return replace(self, limit=max(1, min(self.limit, ROWS_MAX // max(1, replicas))))

    def fields(self) -> dict[str, str]:
        """Returns the query as it stands in a URL."""
        given = {"limit": str(self.limit), "after": self.after or None, "game": self.game, "purpose": self.purpose}
        return {name: value for name, value in given.items() if value is not None}


def read_query(fields: Mapping[str, str]) -> Query:
    """Returns the page that a request asks for.

    Raises:
      BadRequestError: The limit is no number from 1 to ``PAGE_MAX``, or there is no such purpose.
    """
    text = fields.get("limit", str(PAGE_DEFAULT))
    if not text.isdecimal() or len(text) > len(str(PAGE_MAX)) or not 1 <= int(text) <= PAGE_MAX:
        raise BadRequestError(f"limit is {text[:40]!r}; allowed are 1 to {PAGE_MAX}")
    purpose = fields.get("purpose")
    if purpose is not None and purpose not in set(Purpose):
        raise BadRequestError(f"purpose is {purpose[:40]!r}; allowed are {', '.join(Purpose)}")
    return Query(int(text), fields.get("after", ""), fields.get("game"), purpose)


Rows = tuple[Sequence[Mapping[str, Any]], bool]
"""Rows of one replica, each a summary as a JSON object, and whether more follow."""


def page_of(sessions: Iterable[SessionId], limit: int) -> tuple[list[SessionId], bool]:
    """Returns the first ids in order, and whether there are more."""
    first = heapq.nsmallest(limit + 1, sessions)
    return first[:limit], len(first) > limit


def rows_of(value: object) -> list[Mapping[str, Any]]:
    """Returns the rows of a page that another replica has sent, each a summary as a JSON object.

    Raises:
      ValueError: There is one that is none.
    """
    if not isinstance(value, list) or not all(isinstance(row, dict) and row.keys() == _FIELDS for row in value):
        raise ValueError(f"a replica's page has other rows; allowed are sessions with {', '.join(sorted(_FIELDS))}")
    return value


def merged(pages: Sequence[Rows], limit: int) -> tuple[list[SessionSummary], bool]:
    """Returns the first of the rows of several replicas, and whether they have more.

    Behind the last row of one that has more nothing is shown: its next rows may come first.

    Args:
      pages: Rows of each, by id, and whether it has more.
      limit: Rows of a page.
    """
    first = list(islice(heapq.merge(*(rows for rows, _ in pages), key=itemgetter("id")), limit + 1))
    known = min((rows[-1]["id"] for rows, more in pages if more and rows), default=None)
    shown = [SessionSummary(**row) for row in first[:limit] if known is None or row["id"] <= known]
    return shown, len(first) > limit or any(more for _, more in pages)


def page_document(sessions: Sequence[SessionSummary], *, more: bool, silent: Sequence[str]) -> dict[str, Any]:
    """Returns a page as a JSON object; ``next`` is what the next page's ``after`` is, None on the last."""
    following = sessions[-1].id if more and sessions else None
    return {"sessions": [session.as_dict() for session in sessions], "next": following, "silent": list(silent)}


class OpenSession(Protocol):
    """What is shown of a session in a replica's table."""

    @property
    def purpose(self) -> Purpose:
        """Why it is played."""

    @property
    def seq(self) -> int:
        """Steps answered."""

    @property
    def used_at_s(self) -> float:
        """When its last step ended, by the table's clock."""

    @property
    def lock(self) -> asyncio.Lock:
        """Held while a step runs."""


class SessionList:
    """The open sessions of one replica, to be listed."""

    def __init__(
        self, table: Mapping[SessionId, OpenSession], replica: str, first_agent: str, clock: Callable[[], float]
    ) -> None:
        """Looks at a table.

        Args:
          table: Open sessions; what it holds is read anew each time.
          replica: Name of the replica.
          first_agent: Agent of the sessions that name none.
          clock: The table's clock.
        """
        self._table = table
        self._replica = replica
        self._first_agent = first_agent
        self._clock = clock

    def page(self, query: Query) -> tuple[list[SessionSummary], bool]:
        """Returns a page of summaries, and whether more follow."""
        matching = (name for name, session in self._table.items() if query.matches(name, session.purpose))
        first, more = page_of(matching, query.limit)
        return [self._summary(name, self._table[name]) for name in first], more

    def find(self, session: SessionId) -> SessionSummary | None:
        """Returns the summary of one session; None where it is not open here."""
        found = self._table.get(session)
        return None if found is None else self._summary(session, found)

    def by_purpose(self) -> dict[str, int]:
        """Returns how many sessions are open for each purpose; 0 as well, since a gauge that is not told stays."""
        open_now = Counter(session.purpose for session in self._table.values())
        return {str(purpose): open_now[purpose] for purpose in Purpose}

    def _summary(self, name: SessionId, session: OpenSession) -> SessionSummary:
        idle_s = 0.0 if session.lock.locked() else self._clock() - session.used_at_s
        return SessionSummary(
            id=name,
            game=game_of(name),
            agent=agent_of(name) or self._first_agent,
            purpose=str(session.purpose),
            seq=session.seq,
            idle_s=round(idle_s, 3),
            replica=self._replica,
        )
