"""A backup comes back whole, elsewhere too, and takes nobody's place unless it is told to."""

import io
import json
import sqlite3
import tarfile
from contextlib import closing
from pathlib import Path

import pytest

from app.backup.backup import back_up
from app.backup.restore import restore
from app.errors import BackupError
from app.home import state_root

from .project import project


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A backup of a project, to be restored below another ``SPARRING_HOME``."""
    monkeypatch.setenv("SPARRING_HOME", str(tmp_path / "old"))
    project(tmp_path / "old")
    back_up(tmp_path / "a.tar", "pong", None, lambda line: None)
    monkeypatch.setenv("SPARRING_HOME", str(tmp_path / "new home"))
    return tmp_path / "a.tar"


def contents(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def changed(archive: Path, change: "dict[str, bytes | None]") -> None:
    """Writes the archive anew with other bytes for some members; None leaves one out."""
    with tarfile.open(archive) as tar:
        members = {member.name: tar.extractfile(member).read() for member in tar.getmembers()}  # type: ignore[union-attr]
    with tarfile.open(archive, "w") as tar:
        for name, data in (members | change).items():
            if data is not None:
                member = tarfile.TarInfo(name)
                member.size = len(data)
                tar.addfile(member, io.BytesIO(data))


def test_everything_comes_back_byte_for_byte(archive: Path, tmp_path: Path) -> None:
    restored = restore(archive, overwrite=False)
    new, old = contents(restored.root), contents(tmp_path / "old" / "pong")
    same = set(new) - {"mlflow.db", "first/mlflow_unsent/a.unsent", "first/league/journal-00000001.log"}
    assert len(same) == 11
    assert all(new[name] == old[name] for name in same)
    assert [path.name for path in (tmp_path / "new home").iterdir() if path.name[0] != "."] == ["pong"]


def test_places_in_mlflows_store_are_those_of_the_new_home(archive: Path) -> None:
    root = restore(archive, overwrite=False).root
    with closing(sqlite3.connect(root / "mlflow.db")) as connection:
        found = connection.execute("SELECT artifact_uri, note FROM runs ORDER BY id").fetchall()
    assert [uri for uri, _ in found] == [f"{root.as_uri()}/artifacts/{number}" for number in range(3)]
    assert "%20" in root.as_uri()
    assert all(note.endswith("/old/pongx/other") for _, note in found)  # Another folder, which begins alike.
    head, _, rest = (root / "first" / "mlflow_unsent" / "a.unsent").read_text().partition("\n")
    assert json.loads(head)["uri"] == f"sqlite:///{root}/mlflow.db"
    assert rest == '{"loss": 1}\n'


def test_what_exists_is_named_and_stays(archive: Path) -> None:
    root = project(state_root("pong").parent)
    before = contents(root)
    with pytest.raises(BackupError, match=r"holds artifacts, first, mlflow\.db already, and nothing is changed"):
        restore(archive, overwrite=False)
    assert contents(root) == before


def test_what_is_replaced_is_moved_aside_with_its_log_and_other_trials_stay(archive: Path) -> None:
    root = project(state_root("pong").parent)
    (root / "second").mkdir()
    (root / "second" / "mine").write_text("mine")
    (root / "first" / "newer").write_text("newer")
    (root / "mlflow.db-wal").write_bytes(b"a log")
    restored = restore(archive, overwrite=True)
    assert restored.replaced is not None
    assert (restored.replaced / "first" / "newer").read_text() == "newer"
    assert (restored.replaced / "mlflow.db-wal").read_bytes() == b"a log"
    assert not (root / "first" / "newer").exists()
    assert not (root / "mlflow.db-wal").exists()
    assert (root / "second" / "mine").read_text() == "mine"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"files/first/weights/main.safetensors": b"newesT"},
            r"damaged: first/weights/main\.safetensors has the sha256",
        ),
        ({"files/first/weights/main.safetensors": b"new"}, r"differ in files/first/weights/main\.safetensors"),
        ({"files/first/weights/main.safetensors": None}, r"differ in files/first/weights/main\.safetensors"),
        ({"files/more": b""}, "differ in files/more"),
        ({"manifest.json": None}, r"no whole backup of Sparring: it has no manifest\.json"),
        ({"manifest.json": b"{}"}, r"is no backup of Sparring: its manifest\.json cannot be read"),
        ({"manifest.json": b'{"schema_version": 9}'}, "has the schema version 9; allowed is 1"),
    ],
)
def test_a_damaged_archive_restores_nothing(archive: Path, change: dict[str, bytes | None], message: str) -> None:
    changed(archive, change)
    with pytest.raises(BackupError, match=message):
        restore(archive, overwrite=False)
    assert not state_root("pong").exists()
    home = state_root("pong").parent
    assert not home.exists() or [path.name for path in home.iterdir()] == [".restore.lock"]


def test_a_cut_archive_is_refused(archive: Path) -> None:
    data = archive.read_bytes()
    for size in (0, 700, len(data) // 2, len(data) - 15_000):
        archive.write_bytes(data[:size])
        with pytest.raises(BackupError, match=r"not whole|no whole|cannot be opened"):
            restore(archive, overwrite=False)


def test_a_path_that_leads_outside_is_refused(archive: Path, tmp_path: Path) -> None:
    with tarfile.open(archive) as tar:
        told = json.loads(tar.extractfile("manifest.json").read())  # type: ignore[union-attr]
    told["files"][0]["path"] = "../outside"
    changed(archive, {"manifest.json": json.dumps(told).encode()})
    with pytest.raises(BackupError, match=r"names the file '\.\./outside'"):
        restore(archive, overwrite=False)


def test_links_in_an_archive_are_refused(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        link = tarfile.TarInfo("files/first")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc"
        tar.addfile(link)
    with pytest.raises(BackupError, match="is no plain file"):
        restore(tmp_path / "a.tar", overwrite=False)


def test_a_file_that_is_no_archive_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.tar").write_text("hello")
    with pytest.raises(BackupError, match="cannot be opened"):
        restore(tmp_path / "a.tar", overwrite=False)
    with pytest.raises(BackupError, match="No such file"):
        restore(tmp_path / "b.tar", overwrite=False)


def test_what_a_killed_restore_has_left_is_removed_by_the_next(archive: Path) -> None:
    left = state_root("pong").parent / ".restore-pong-12345678"
    left.mkdir(parents=True)
    (left / "half").write_text("half")
    restore(archive, overwrite=False)
    assert not left.exists()
