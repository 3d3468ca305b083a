"""What counts as an sqlite database."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from app.sqlite_file import is_database


def made(file: Path) -> Path:
    with closing(sqlite3.connect(file)) as database, database:
        database.execute("CREATE TABLE runs (id INTEGER)")
    return file


def test_a_database_is_one_also_while_it_is_locked(tmp_path: Path) -> None:
    file = made(tmp_path / "a.db")
    assert is_database(file)
    with closing(sqlite3.connect(file)) as database:
        database.execute("BEGIN EXCLUSIVE")
        assert is_database(file)


@pytest.mark.parametrize("content", [b"", b"run: {}", b"SQLite format 2\0" + b"\0" * 4096])
def test_other_files_are_none(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "a.yaml"
    file.write_bytes(content)
    assert not is_database(file)
    assert file.read_bytes() == content
