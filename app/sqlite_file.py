"""Whether a file is an sqlite database, asked in a way that does its users no harm."""

import sqlite3
from contextlib import closing
from pathlib import Path


def is_database(path: Path) -> bool:
    """Returns whether an existing file is an sqlite database; one without a byte is none.

    It is opened through sqlite alone: to open and close it ourselves would drop the locks that this process holds on
    it (POSIX locks belong to process and file, not to a descriptor), and another process would then take itself for
    the last one and delete the log that we still write: https://sqlite.org/howtocorrupt.html, 2.2.
    """
    if not path.stat().st_size:
        return False
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True, timeout=0)) as database:
            database.execute("PRAGMA schema_version").fetchone()
    except sqlite3.OperationalError:  # It is locked, so it is a database.
        return True
    except sqlite3.DatabaseError:
        return False
    return True
