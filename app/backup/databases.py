"""Copies sqlite databases that others write to, and moves the paths that one of MLflow holds."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

from app.errors import BackupError

BUSY_TIMEOUT_S: Final = 20.0
"""Longest wait for a writer that holds the whole database."""


def copy_database(source: Path, target: Path) -> None:
    """Writes the state of a database at one moment, as one file without a log beside it; writers go on meanwhile.

    Raises:
      BackupError: It cannot be read, is damaged, or the copy cannot be written.
    """
    try:
        with (
            closing(sqlite3.connect(f"{source.absolute().as_uri()}?mode=rw", uri=True, timeout=BUSY_TIMEOUT_S)) as old,
            closing(sqlite3.connect(target)) as new,
        ):
            old.backup(new)
            new.execute("PRAGMA journal_mode=DELETE").fetchone()
            (verdict,) = new.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.Error as error:
        raise BackupError(f"the database {source} cannot be copied to {target}: {error}") from error
    if verdict != "ok":
        raise BackupError(f"the database {source} is damaged: {verdict}; repair it with sqlite3's .recover first")


def move_paths(database: Path, old: Path, new: Path) -> int:
    """Replaces a folder by another one where a value begins with it, as a path or a URI; returns how many values.

    MLflow keeps absolute places of artifacts: of experiments, runs, logged models and registered versions.

    Raises:
      BackupError: The database cannot be written.
    """
    if old == new:
        return 0
    pairs = [(old.as_uri(), new.as_uri()), (str(old), str(new)), (f"sqlite:///{old}", f"sqlite:///{new}")]
    changed = 0
    try:
        with closing(sqlite3.connect(database)) as connection, connection:
            for table, column in _text_columns(connection):
                for before, after in pairs:
                    changed += _replace(connection, table, column, before, after)
    except sqlite3.Error as error:
        raise BackupError(f"the paths in the database {database} cannot be moved: {error}") from error
    return changed


def _text_columns(connection: sqlite3.Connection) -> Iterator[tuple[str, str]]:
    tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    for (table,) in tables:
        for _, column, kind, *_ in connection.execute(f"PRAGMA table_info({_quoted(table)})").fetchall():
            if "CHAR" in kind.upper() or "TEXT" in kind.upper():
                yield table, column


def _replace(connection: sqlite3.Connection, table: str, column: str, before: str, after: str) -> int:
    name = _quoted(column)
    # Names of tables and columns are the database's own, and quoted; values are parameters.
    statement = (
        f"UPDATE {_quoted(table)} SET {name} = ? || substr({name}, ?) "  # noqa: S608
        f"WHERE {name} = ? OR substr({name}, 1, ?) = ?"
    )
    below = before + "/"
    return connection.execute(statement, (after, len(before) + 1, before, len(below), below)).rowcount


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
