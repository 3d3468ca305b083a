from pathlib import Path

import pytest

from app.models import folders as module
from app.models.folders import UNFINISHED, remove_folder, write_folder


def two_files(folder: Path) -> None:
    (folder / "a").write_text("one")
    (folder / "b").write_text("two")


def test_a_folder_is_there_with_all_its_files(tmp_path: Path) -> None:
    write_folder(tmp_path / "made" / "when needed", two_files)
    assert [path.name for path in (tmp_path / "made").iterdir()] == ["when needed"]
    assert sorted(path.read_text() for path in (tmp_path / "made" / "when needed").iterdir()) == ["one", "two"]


def test_while_it_is_written_it_is_not_there(tmp_path: Path) -> None:
    seen: list[list[str]] = []

    def look(folder: Path) -> None:
        two_files(folder)
        seen.append([path.name for path in tmp_path.iterdir()])

    write_folder(tmp_path / "target", look)
    assert len(seen[0]) == 1
    assert seen[0][0].startswith(f"{UNFINISHED}target-")


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt(), RuntimeError("torch")])
def test_a_failed_write_leaves_nothing(error: BaseException, tmp_path: Path) -> None:
    def fail(folder: Path) -> None:
        two_files(folder)
        raise error

    with pytest.raises(type(error)):
        write_folder(tmp_path / "target", fail)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_with_files_is_never_replaced(tmp_path: Path) -> None:
    write_folder(tmp_path / "target", two_files)
    with pytest.raises(OSError, match="not empty"):
        write_folder(tmp_path / "target", lambda folder: (folder / "c").touch())
    assert sorted(path.name for path in (tmp_path / "target").iterdir()) == ["a", "b"]
    assert [path.name for path in tmp_path.iterdir()] == ["target"]


def test_a_folder_is_gone_before_its_first_file_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_folder(tmp_path / "target", two_files)

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(module.shutil, "rmtree", killed)
    with pytest.raises(KeyboardInterrupt):
        remove_folder(tmp_path / "target")
    (left,) = tmp_path.iterdir()
    assert left.name.startswith(UNFINISHED)


def test_a_removed_folder_leaves_nothing_and_one_that_is_not_there_is_no_error(tmp_path: Path) -> None:
    write_folder(tmp_path / "target", two_files)
    remove_folder(tmp_path / "target")
    remove_folder(tmp_path / "target")
    assert list(tmp_path.iterdir()) == []
