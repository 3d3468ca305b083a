from pathlib import Path

import pytest

from app.files import replace_file, sync


def test_a_file_is_replaced_and_its_folder_is_made(tmp_path: Path) -> None:
    path = tmp_path / "new" / "state.json"
    for data in (b"one", b"another"):
        replace_file(path, data)
        assert path.read_bytes() == data
    assert [left.name for left in path.parent.iterdir()] == ["state.json"]


def test_a_file_that_cannot_be_written_stays_what_it_was(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    replace_file(path, b"one")
    (tmp_path / ".state.json.unfinished").mkdir()  # Whatever keeps the new file from being written.
    with pytest.raises(OSError, match="Is a directory"):
        replace_file(path, b"another")
    assert path.read_bytes() == b"one"


def test_files_and_folders_are_brought_to_the_disk(tmp_path: Path) -> None:
    replace_file(tmp_path / "state.json", b"one")
    sync(tmp_path / "state.json")
    sync(tmp_path)
    with pytest.raises(FileNotFoundError):
        sync(tmp_path / "nothing")
