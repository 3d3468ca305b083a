"""Which session a line of a log belongs to."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

SESSION: Final[ContextVar[str]] = ContextVar("sparring_session", default="")
"""Session whose step runs in this task or thread; empty outside a step."""


@contextmanager
def logged_as(session: str) -> Iterator[None]:
    """Gives the lines that are logged in the block the name of a session."""
    token = SESSION.set(session)
    try:
        yield
    finally:
        SESSION.reset(token)
