"""Which key started which session."""

from collections import Counter, OrderedDict
from typing import Final

from app.types import SessionId

OVER_KEPT: Final = 10_000
"""Sessions that are over and whose key is remembered: as many as have their last reply kept."""


class Bindings:
    """The open sessions of each key, and for a while those that are over."""

    def __init__(self) -> None:
        self._open: dict[SessionId, str] = {}
        self._over: OrderedDict[SessionId, str] = OrderedDict()
        self._counts: Counter[str] = Counter()

    def holder(self, session: SessionId) -> str | None:
        """Returns the name of the key that started an open session; None where there is no such session."""
        return self._open.get(session)

    def last_holder(self, session: SessionId) -> str | None:
        """Returns the name of the key that started a session, be it over; None where nobody is known."""
        return self._open.get(session) or self._over.get(session)

    def open_sessions(self, key: str) -> int:
        """Returns how many sessions of a key are open."""
        return self._counts[key]

    def bind(self, session: SessionId, key: str) -> None:
        """Notes that a session is open under a key."""
        self.end(session)
        self._over.pop(session, None)
        self._open[session] = key
        self._counts[key] += 1

    def end(self, session: SessionId) -> None:
        """Notes that a session is over; one that is not open is passed over."""
        key = self._open.pop(session, None)
        if key is None:
            return
        self._counts[key] -= 1
        if not self._counts[key]:
            del self._counts[key]
        self.was_of(session, key)

    def was_of(self, session: SessionId, key: str) -> None:
        """Notes under which key a session was that is over."""
        self._over[session] = key
        if len(self._over) > OVER_KEPT:
            self._over.popitem(last=False)
