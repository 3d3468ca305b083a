"""An MLflow store in one sqlite file: its checks, its write-ahead log, its schema; one process at a time sets it up."""

import fcntl
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from app.errors import TrackingError
from app.sqlite_file import is_database

SCHEME: Final = "sqlite:///"
LOCK_TIMEOUT_S: Final = 60.0
"""A first migration takes about 2 s, and eight processes may queue up on a busy machine."""
UNFINISHED: Final = ".unfinished"
"""What follows the name of a database that is being made."""
LOCK_POLL_S: Final = 0.05
BUSY_TIMEOUT_S: Final = 20.0
"""MLflow's own patience with a locked file."""


def check_file(uri: str) -> None:
    """Checks that the file of an sqlite address is a database, or can become one, without importing MLflow.

    Raises:
      TrackingError: It cannot be written, or is something else.
    """
    file = Path(uri.removeprefix(SCHEME))
    existing = next(path for path in (file, *file.parents) if path.exists())
    if existing == file:
        problem = _problem_of_file(file)
    elif not existing.is_dir():
        problem = f"{existing} is not a folder"
    else:
        problem = "" if os.access(existing, os.W_OK | os.X_OK) else f"{existing} is not writable for this user"
    if problem:
        raise TrackingError(f"cannot use the tracking store {uri}: {problem}; correct tracking.mlflow_uri")


def set_up(uri: str, artifacts: Path) -> None:
    """Creates or migrates the database under a file lock and switches its write-ahead log on.

    A new one is made in a file beside it, which is renamed when it is whole: MLflow cannot go on with half a schema.
    An older database is copied to ``<file>.<its schema>`` first.

    Args:
      uri: Absolute sqlite address.
      artifacts: Folder of the files of MLflow's default experiment.

    Raises:
      TrackingError: The lock is held for too long, or the file system cannot hold a write-ahead log.
      Exception: Those of ``mlflow_connection.failures`` and ``sqlite3.Error``.
    """
    file = Path(uri.removeprefix(SCHEME))
    file.parent.mkdir(parents=True, exist_ok=True)
    with _locked(file.with_name(file.name + ".lock")):
        if not file.exists():
            _create(file, artifacts)
        _switch_on_wal(file)
        _migrate(uri, file, artifacts)


def _problem_of_file(file: Path) -> str:
    if not file.is_file():
        return "it is not a file"
    if not os.access(file, os.R_OK | os.W_OK) or not os.access(file.parent, os.W_OK | os.X_OK):
        return "the file or its folder is not writable for this user"
    if file.stat().st_size and not is_database(file):
        return "the file is not an sqlite database"
    return ""


@contextmanager
def _locked(file: Path) -> Iterator[None]:
    deadline = time.monotonic() + LOCK_TIMEOUT_S
    with file.open("a") as stream:
        while not _lock(stream.fileno()):
            if time.monotonic() > deadline:
                raise TrackingError(f"another process has held {file} for {LOCK_TIMEOUT_S:.0f} s; end it")
            time.sleep(LOCK_POLL_S)
        yield


def _lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _create(file: Path, artifacts: Path) -> None:
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore  # noqa: PLC0415

    unfinished = file.with_name(file.name + UNFINISHED)
    for left in file.parent.glob(f"{unfinished.name}*"):  # By a process that was killed; with its journal.
        left.unlink()
    store = SqlAlchemyStore(f"{SCHEME}{unfinished}", artifacts.as_uri())  # type: ignore[no-untyped-call]
    store._dispose_engine()  # type: ignore[no-untyped-call]  # Else it keeps a connection by the old name.
    unfinished.replace(file)


def _switch_on_wal(file: Path) -> None:
    with closing(sqlite3.connect(file, timeout=BUSY_TIMEOUT_S)) as database:
        (mode,) = database.execute("PRAGMA journal_mode=WAL").fetchone()
    if mode != "wal":
        raise TrackingError(f"{file} is on a file system without sqlite's WAL mode (got {mode}); use a local disk")


def _migrate(uri: str, file: Path, artifacts: Path) -> None:
    from mlflow.store.db import utils  # noqa: PLC0415
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore  # noqa: PLC0415

    engine = utils.create_sqlalchemy_engine_with_retry(uri)  # type: ignore[no-untyped-call]
    try:
        revision = utils._get_schema_version(engine)  # type: ignore[no-untyped-call]
        if revision not in {None, utils._get_latest_schema_revision()}:  # type: ignore[no-untyped-call]
            _copy(file, file.with_name(f"{file.name}.{revision}"))
            utils._upgrade_db(engine)  # type: ignore[no-untyped-call]
    finally:
        engine.dispose()
    SqlAlchemyStore(uri, artifacts.as_uri())  # type: ignore[no-untyped-call]  # Creates what is missing.


def _copy(file: Path, backup: Path) -> None:
    with closing(sqlite3.connect(file)) as old, closing(sqlite3.connect(backup)) as new:
        old.backup(new)
