"""How a line of a log is written: as text for people, as JSON for machines."""

import json
import logging
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Final, Literal

from app.logs.entry import Entry, Source, entry_of
from app.logs.secrets import SECRETS, Secrets

LogFormat = Literal["text", "json"]


def as_text(entry: Entry) -> str:
    """Returns the line that a person reads, with the traceback below it."""
    time = datetime.fromtimestamp(entry.time_s).astimezone().strftime("%H:%M:%S")
    about = " ".join(part for part in (entry.process, entry.session and f"session {entry.session}") if part)
    line = f"{time} {entry.level.upper()} {entry.where}{f' [{about}]' if about else ''}: {entry.message}"
    return line if entry.traceback is None else f"{line}\n{entry.traceback.rstrip()}"


def as_json(entry: Entry) -> str:
    """Returns the entry as one line of JSON: ``time`` in UTC, and no field that is empty."""
    time = datetime.fromtimestamp(entry.time_s, UTC).isoformat(timespec="milliseconds")
    fields = {name: value for name, value in entry.as_dict().items() if name != "time_s" and value not in ("", None)}
    return json.dumps({"time": time} | fields, ensure_ascii=False)


FORMATS: Final[Mapping[LogFormat, Callable[[Entry], str]]] = MappingProxyType({"text": as_text, "json": as_json})


class EntryFormatter(logging.Formatter):
    """Writes records of one process as entries."""

    def __init__(self, written: Callable[[Entry], str], source: Source, secrets: Secrets = SECRETS) -> None:
        """Keeps the parts.

        Args:
          written: Returns an entry as text.
          source: The process.
          secrets: What must not be shown.
        """
        super().__init__()
        self._written, self._source, self._secrets = written, source, secrets

    def format(self, record: logging.LogRecord) -> str:
        """Returns the record as a line."""
        return self._written(entry_of(record, self._source, self._secrets))
