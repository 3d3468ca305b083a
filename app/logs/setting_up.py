"""Sets the logs of a process up; each process of a trial does so when it begins."""

import logging
import os
import sys
from collections.abc import Mapping
from typing import Final, Literal, Protocol, TextIO, cast, get_args

from app.errors import ConfigError
from app.logs.entry import Source
from app.logs.formats import FORMATS, EntryFormatter, LogFormat

LogLevel = Literal["debug", "info", "warning", "error"]

FORMAT_VARIABLE: Final = "SPARRING_LOG_FORMAT"
"""Environment variable that comes before ``logs.format``."""
OURS: Final = ("app", "deployments", "train")
"""Our loggers; the others' lines count from warnings on."""


class LogSettings(Protocol):
    """What a config says of logs."""

    @property
    def format(self) -> LogFormat:
        """How lines are written where the environment does not say it."""

    @property
    def level(self) -> LogLevel:
        """What is written of our own loggers."""

    @property
    def loggers(self) -> Mapping[str, LogLevel]:
        """Levels of other loggers, by name."""


class _Stream(logging.StreamHandler[TextIO]):
    """Writes to what stderr is at the time, which a live display replaces; the next set-up finds it by its class."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)  # The stream is none of its own.

    @property
    def stream(self) -> TextIO:  # type: ignore[override]
        """The present stderr."""
        return sys.stderr


def set_up_logs(logs: LogSettings, source: Source, environment: Mapping[str, str] = os.environ) -> None:
    """Lets all loggers of this process write to stderr as the config says; calling it again replaces what it did.

    Args:
      logs: The config's section.
      source: The process.
      environment: Where the format may be named, too.

    Raises:
      ConfigError: The environment names another format.
    """
    root = logging.getLogger()
    for handler in [one for one in root.handlers if isinstance(one, _Stream)]:
        root.removeHandler(handler)
    stream = _Stream()
    stream.setFormatter(EntryFormatter(FORMATS[log_format(logs, environment)], source))
    stream.addFilter(_not_rays)
    root.addHandler(stream)
    for name in OURS:
        logging.getLogger(name).setLevel(_number(logs.level))
    for name, wanted in logs.loggers.items():
        logging.getLogger(name).setLevel(_number(wanted))


def log_format(logs: LogSettings, environment: Mapping[str, str] = os.environ) -> LogFormat:
    """Returns how lines are written: as the environment says, else as the config does.

    Raises:
      ConfigError: The environment names another format.
    """
    wanted = environment.get(FORMAT_VARIABLE) or logs.format
    if wanted not in get_args(LogFormat):
        raise ConfigError(f"{FORMAT_VARIABLE} is {wanted!r}; allowed are {', '.join(get_args(LogFormat))}")
    return cast("LogFormat", wanted)


def _not_rays(record: logging.LogRecord) -> bool:
    """Returns whether a line is not Ray's, which has handlers of its own."""
    return record.name.partition(".")[0] != "ray"


def _number(level: LogLevel) -> int:
    return logging.getLevelNamesMapping()[level.upper()]
