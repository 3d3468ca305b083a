"""The experiment store's address, whether it answers, and its client.

MLflow is imported inside functions only: the import costs about a second and 200 MiB, which start-up must not pay.
"""

import logging
import os
import re
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Final

from app.errors import TrackingError
from app.stores import mlflow_sqlite

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient

HTTP: Final = ("http://", "https://")
CHECK_TIMEOUT_S: Final = 3.0
"""A server that takes longer to say that it is healthy is as good as down."""

_FORCED: Final = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_CONFIGURE_LOGGING": "false",
}
_DEFAULTS: Final = {
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",  # MLflow's own: 120 s and 7 retries, minutes in which nothing can be closed.
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0",
}


def tracking_uri(configured: str | None, root: Path) -> str:
    """Returns the address of the experiment store, absolute.

    Args:
      configured: Address from the config; a relative sqlite file lies under ``root``; None means an sqlite file there.
      root: State root of the project.
    """
    scheme = mlflow_sqlite.SCHEME
    if configured is None:
        return f"{scheme}{root.absolute() / 'mlflow.db'}"
    if configured.startswith(scheme):
        return f"{scheme}{root.absolute() / configured.removeprefix(scheme)}"
    return configured


def artifact_location(uri: str, root: Path, experiment: str) -> str | None:
    """Returns where an experiment's files go: under ``root`` beside an sqlite store; None lets the server choose."""
    return (_artifacts(root) / experiment).as_uri() if uri.startswith(mlflow_sqlite.SCHEME) else None


def check(uri: str) -> None:
    """Checks within ``CHECK_TIMEOUT_S``, and without importing MLflow, that the store can be used.

    Raises:
      TrackingError: It cannot; the message names the address and what to do.
    """
    if uri.startswith(mlflow_sqlite.SCHEME):
        mlflow_sqlite.check_file(uri)
    elif uri.startswith(HTTP):
        _check_server(uri)
    else:
        raise TrackingError(
            f"tracking.mlflow_uri is {shown(uri)}; allowed are null, {mlflow_sqlite.SCHEME}<file> and http(s)://<server>"
        )


def prepare(uri: str, root: Path) -> None:
    """Creates or migrates an sqlite store, one process at a time, or checks that a server answers.

    Args:
      uri: Address of the store.
      root: State root, under which the artifacts of an sqlite store lie.

    Raises:
      TrackingError: The store cannot be reached or written.
    """
    check(uri)
    if not uri.startswith(mlflow_sqlite.SCHEME):
        return
    known: tuple[type[Exception], ...] = (*failures(), sqlite3.Error)
    try:
        mlflow_sqlite.set_up(uri, _artifacts(root))
    except known as error:
        raise TrackingError(f"cannot prepare the tracking store {uri}: {error}; repair the file or move it") from error


def connect(uri: str) -> "MlflowClient":
    """Returns a client of the store; the first call of a process imports MLflow."""
    _quieten()
    from mlflow.tracking import MlflowClient  # noqa: PLC0415

    return MlflowClient(tracking_uri=uri, registry_uri=uri)


def failures() -> tuple[type[Exception], ...]:
    """Returns the exceptions that calls of the client may raise; imports MLflow."""
    _quieten()
    from alembic.util.exc import CommandError  # noqa: PLC0415
    from mlflow.exceptions import MlflowException  # noqa: PLC0415
    from sqlalchemy.exc import SQLAlchemyError  # noqa: PLC0415

    return MlflowException, SQLAlchemyError, CommandError, OSError


def is_refusal(error: Exception) -> bool:
    """Returns whether the store understood the call and said no, so that repeating it cannot help."""
    from mlflow.exceptions import MlflowException  # noqa: PLC0415

    if not isinstance(error, MlflowException):
        return False
    status = int(error.get_http_status_code())  # type: ignore[no-untyped-call]
    return 400 <= status < 500 and status not in {408, 429}  # noqa: PLR2004


def shown(uri: str) -> str:
    """Returns the address without user and password, for messages."""
    return re.sub(r"//[^/@]*@", "//***@", uri)


def _artifacts(root: Path) -> Path:
    return root.absolute() / "artifacts"


def _quieten() -> None:
    """Sets MLflow up before its first import: no telemetry, no handlers of its own, no endless retries."""
    os.environ.update(_FORCED)
    for name, value in _DEFAULTS.items():
        os.environ.setdefault(name, value)
    logging.getLogger("mlflow").setLevel(logging.WARNING)
    logging.getLogger("alembic").setLevel(logging.WARNING)
    # It logs a traceback for each failed statement, although the same error is raised to us.
    logging.getLogger("mlflow.store.db.utils").setLevel(logging.CRITICAL)


def _check_server(uri: str) -> None:
    import httpx  # noqa: PLC0415  (most runs use sqlite)

    try:
        status = httpx.get(f"{uri.rstrip('/')}/health", timeout=CHECK_TIMEOUT_S).status_code
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        answer = str(error) or type(error).__name__
    else:
        if status < 500:  # noqa: PLR2004  (a proxy that asks for a login is alive, too)
            return
        answer = f"HTTP status {status}"
    raise TrackingError(
        f"the tracking server {shown(uri)} does not answer ({answer}); start it with `mlflow server`, "
        "correct tracking.mlflow_uri, or set it to null for a local store"
    )
