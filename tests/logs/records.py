"""Log records of exceptions that were really raised."""

import logging
import sys


def record(
    message: str, *args: object, level: int = logging.ERROR, error: Exception | None = None, session: str = ""
) -> logging.LogRecord:
    """Returns what a logger of ``app.somewhere`` makes of it."""
    made = logging.LogRecord("app.somewhere", level, "file.py", 1, message, args, None)
    if session:
        made.session = session
    if error is not None:
        try:
            raise error  # noqa: TRY301
        except Exception:  # noqa: BLE001
            made.exc_info = sys.exc_info()
    return made
