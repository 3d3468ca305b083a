"""When tables are written and brought back."""

import logging
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
from ray.exceptions import RayError

from app.config.tables import TableSaving
from app.stores.table_folder import table_folder
from app.stores.table_keeper import Restored
from train import tables as module
from train.checkpoint import LearnerState
from train.resume import Progress
from train.strategies.strategy import TrainedState
from train.tables import KeptTable, Tables

if TYPE_CHECKING:
    from app.stores.buffer import Buffer


@dataclass(eq=False)
class Save:
    """A save under way, in place of Ray's reference."""

    target: Path
    ended: bool = False
    failed: bool = False


@dataclass(frozen=True)
class Stats:
    held: int


@dataclass
class FakeBuffer:
    """Notes what it is told."""

    held: int = 0
    answers: list[Restored] = field(default_factory=lambda: [Restored(20)])
    saves: list[Save] = field(default_factory=list)
    restored: list[Path] = field(default_factory=list)

    def save_tables(self, target: Path) -> Save:
        self.saves.append(Save(target))
        return self.saves[-1]

    def restore_tables(self, folder: Path) -> list[Restored]:
        self.restored.append(folder)
        return self.answers

    def stats(self) -> Stats:
        return Stats(self.held)


@pytest.fixture(autouse=True)
def ray(monkeypatch: pytest.MonkeyPatch) -> None:
    def wait(saves: list[Save], timeout: float) -> tuple[list[Save], list[Save]]:
        if timeout > 0:
            saves[0].ended = True
        return [one for one in saves if one.ended], [one for one in saves if not one.ended]

    def get(save: Save, timeout: float) -> Any:
        if save.failed:
            raise RayError("no room")

    monkeypatch.setattr(module.ray, "wait", wait)
    monkeypatch.setattr(module.ray, "get", get)


def tables(buffer: FakeBuffer, folder: Path, saving: TableSaving | None = TableSaving()) -> Tables:  # noqa: B008
    return Tables([KeptTable("replay", cast("Buffer", buffer), saving)], folder)


def state(generation: int, updates: int) -> LearnerState:
    return LearnerState(Progress(TrainedState({})), updates, generation, "0123", "run")


def written(buffer: FakeBuffer) -> list[str]:
    return [save.target.name for save in buffer.saves]


def saved_in(folder: Path, name: str) -> Path:
    found = table_folder(folder, "replay") / name
    found.mkdir(parents=True)
    return found


def test_a_table_lies_beside_the_checkpoint_under_its_name(tmp_path: Path) -> None:
    buffer = FakeBuffer()
    tables(buffer, tmp_path).save(tmp_path / "000001-0000000007")
    assert [save.target for save in buffer.saves] == [tmp_path / "tables" / "replay" / "000001-0000000007"]


def test_each_second_checkpoint_has_the_table_and_the_last_one(tmp_path: Path) -> None:
    buffer = FakeBuffer()
    kept = tables(buffer, tmp_path, TableSaving(every_checkpoints=2))
    for name in ("1", "2", "3", "4", "5"):
        kept.save(Path(name), last=name == "5")
        for save in buffer.saves:
            save.ended = True
    assert written(buffer) == ["2", "4", "5"]


def test_training_does_not_wait_for_a_save_and_the_end_does(tmp_path: Path) -> None:
    buffer = FakeBuffer()
    kept = tables(buffer, tmp_path)
    kept.save(Path("1"))
    kept.save(Path("2"))
    assert written(buffer) == ["1"]
    assert kept.gauges() | {"tables_saved": 0.0, "tables_not_saved": 1.0} == kept.gauges()
    kept.save(Path("3"), last=True)
    assert buffer.saves[0].ended
    kept.settle()
    assert written(buffer) == ["1", "3"]
    assert kept.gauges() | {"tables_saved": 2.0} == kept.gauges()


def test_a_table_that_cannot_be_written_is_told_and_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    buffer = FakeBuffer()
    kept = tables(buffer, tmp_path)
    kept.save(Path("1"))
    buffer.saves[0].failed = True
    kept.settle()
    kept.settle()
    assert kept.gauges() | {"tables_saved": 0.0, "tables_not_saved": 1.0} == kept.gauges()
    assert [record.message for record in caplog.records] == ["the table of buffers.replay is not saved: no room"]


def test_the_table_of_the_checkpoint_comes_back(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    found, buffer = saved_in(tmp_path, "000001-0000000007"), FakeBuffer(answers=[Restored(20), Restored(5)])
    kept = tables(buffer, tmp_path / "elsewhere")
    with caplog.at_level(logging.WARNING):
        kept.restore(tmp_path, state(1, 8))
    assert buffer.restored == [found]
    assert kept.gauges()["table_items_restored"] == 25.0
    assert not caplog.records


def test_a_table_that_is_refused_is_told_and_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    saved_in(tmp_path, "000001-0000000007")
    kept = tables(FakeBuffer(answers=[Restored(refused="seed is 1, here 2")]), tmp_path)
    kept.restore(tmp_path, state(1, 7))
    assert kept.gauges()["tables_refused"] == 1.0
    (record,) = caplog.records
    assert record.message == "a shard of buffers.replay begins with an empty table: seed is 1, here 2"


@pytest.mark.parametrize(
    ("saving", "message"),
    [(None, "its save is null"), (TableSaving(), "none was saved until 6 updates")],
)
def test_a_table_that_begins_empty_is_told(
    tmp_path: Path, saving: TableSaving | None, message: str, caplog: pytest.LogCaptureFixture
) -> None:
    saved_in(tmp_path, "000001-0000000007")
    buffer = FakeBuffer()
    tables(buffer, tmp_path, saving).restore(tmp_path, state(1, 6))
    assert not buffer.restored
    (record,) = caplog.records
    assert record.message == f"the table of buffers.replay begins empty: {message}"


def test_a_table_that_lives_on_is_no_news(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    tables(FakeBuffer(held=9), tmp_path, None).restore(tmp_path, state(1, 6))
    assert not caplog.records


def test_where_no_table_is_saved_there_are_no_figures_of_it(tmp_path: Path) -> None:
    assert Tables([], tmp_path).gauges() == {}
    assert tables(FakeBuffer(), tmp_path, None).gauges() == {}
