"""What the processes of a trial write to their logs."""

from pydantic import Field

from app.config.base import Config
from app.logs.formats import LogFormat
from app.logs.setting_up import LogLevel


class LogsConfig(Config):
    """The logs of all processes of a trial; secrets are never in them."""

    format: LogFormat = "text"
    """``text`` for people; ``json``: one object a line with time, level, trial, process, session and message. The
    environment variable ``SPARRING_LOG_FORMAT`` comes first."""

    level: LogLevel = "info"
    """What is written of the framework's own lines."""

    loggers: dict[str, LogLevel] = {}
    """Levels of other loggers by name, such as those of your agents; not named ones write warnings and worse."""

    errors_kept: int = Field(1_000, ge=1, le=100_000)
    """Different errors that ``sparring errors`` can show, and as many warnings; the oldest go first."""
