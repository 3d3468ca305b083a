"""One line of a log as a value."""

import logging
import traceback
from dataclasses import asdict, dataclass
from typing import Any, Final

from app.logs.secrets import SECRETS, Secrets
from app.logs.session import SESSION

MESSAGE_CHARACTERS: Final = 4_000
"""Longest message that is kept."""
TRACEBACK_CHARACTERS: Final = 16_000
"""Longest traceback that is kept; its end tells what was raised, so its beginning goes."""


@dataclass(frozen=True, slots=True)
class Source:
    """Which process logs."""

    trial: str = ""
    """``project.trial``; empty where none is known."""
    process: str = ""
    """What the process is: ``replica …``, ``learner main 0``, ``stores``, ``driver``."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What was logged, without secrets; all its values are JSON."""

    time_s: float
    """Unix seconds."""
    level: str
    """``info``, ``warning``, ``error``, ``critical``…"""
    where: str
    """Name of the logger: the module."""
    trial: str
    process: str
    session: str
    """Session whose step was answered; empty where there was none."""
    message: str
    traceback: str | None = None
    """None where no exception was logged with it."""

    def as_dict(self) -> dict[str, Any]:
        """Returns the entry as a JSON object."""
        return asdict(self)


def entry_of(record: logging.LogRecord, source: Source, secrets: Secrets = SECRETS) -> Entry:
    """Returns a record as an entry of a process."""
    raised = record.exc_info
    trace = None if not raised or raised[0] is None else "".join(traceback.format_exception(*raised))
    return Entry(
        time_s=record.created,
        level=record.levelname.lower(),
        where=record.name,
        trial=source.trial,
        process=source.process,
        session=str(getattr(record, "session", "") or SESSION.get()),
        message=secrets.covered(_message(record))[:MESSAGE_CHARACTERS],
        traceback=None if trace is None else secrets.covered(trace)[-TRACEBACK_CHARACTERS:],
    )


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except (TypeError, ValueError) as error:  # Its arguments do not fit; logging must not raise.
        return f"{record.msg} ({record.args!r} do not fit: {error})"
