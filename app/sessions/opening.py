"""A start under way."""

from app.sessions.bindings import Bindings
from app.sessions.holders import Holder
from app.types import SessionId


class Opening:
    """Holds a place among its key's sessions, inside ``with``, until the start is answered."""

    __slots__ = ("_bindings", "_holder", "_key")

    def __init__(self, bindings: Bindings, key: str | None, holder: Holder | None) -> None:
        """Makes the place.

        Args:
          bindings: Where the session is noted once it is open.
          key: Name of the key; None binds nothing.
          holder: Whose starts under way are counted; None where the session has its place already.
        """
        self._bindings = bindings
        self._key = key
        self._holder = holder

    def __enter__(self) -> "Opening":
        if self._holder is not None:
            self._holder.opening += 1
        return self

    def opened(self, session: SessionId) -> None:
        """Binds the session, now that it is open, to the key."""
        if self._key is not None:
            self._bindings.bind(session, self._key)

    def __exit__(self, *_: object) -> None:
        if self._holder is not None:
            self._holder.opening -= 1
