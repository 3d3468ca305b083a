"""Checkpoints as folders: how they are named, listed and found."""

import logging
from pathlib import Path

import pytest

from app.errors import CheckpointError
from app.models.checkpoints import (
    checkpoint_facts,
    checkpoint_name,
    find_checkpoint,
    listed,
    newest_readable,
    updates_of,
    whole_checkpoints,
)
from app.models.saved import META


def made(folder: Path, *names: str) -> list[Path]:
    for name in names:
        (folder / name).mkdir(parents=True)
        (folder / name / META).write_text('{"schema_version": 1, "learner": {"updates": 3, "generation": 1}}')
    return [folder / name for name in names]


def test_names_sort_by_age() -> None:
    ages = [(1, 5, 0), (1, 5, 1), (1, 10, 0), (2, 1, 0), (10, 0, 0)]
    names = [checkpoint_name(*age) for age in ages]
    assert names == sorted(names)
    assert names[:2] == ["000001-0000000005", "000001-0000000005.01"]
    assert [updates_of(Path(name)) for name in names] == [5, 5, 10, 1, 0]


def test_only_whole_checkpoints_are_listed(tmp_path: Path) -> None:
    made(tmp_path, ".unfinished-000001-0000000009-ab", "something", "000001-0000000005", "000001-0000000004")
    (tmp_path / "000001-0000000007").mkdir()
    assert [path.name for path in whole_checkpoints(tmp_path)] == ["000001-0000000004", "000001-0000000005"]
    assert whole_checkpoints(tmp_path / "nowhere") == []


def test_a_number_finds_the_checkpoint_of_the_newest_trainer_that_has_it(tmp_path: Path) -> None:
    made(tmp_path, "000001-0000000005", "000002-0000000005", "000002-0000000009")
    assert find_checkpoint(tmp_path, "5").name == "000002-0000000005"
    assert find_checkpoint(tmp_path, "000001-0000000005").name == "000001-0000000005"


@pytest.mark.parametrize("wanted", ["6", "000003-0000000005", "newest"])
def test_a_missing_checkpoint_names_those_that_are_there(wanted: str, tmp_path: Path) -> None:
    made(tmp_path, "000001-0000000005")
    with pytest.raises(CheckpointError, match=f"no checkpoint {wanted} in {tmp_path}; there are 000001-0000000005"):
        find_checkpoint(tmp_path, wanted)


def test_a_long_list_is_cut(tmp_path: Path) -> None:
    assert listed([]) == "none"
    many = [tmp_path / checkpoint_name(1, updates) for updates in range(25)]
    assert listed(many).endswith("000001-0000000024 and 5 older ones")


def test_damaged_ones_are_named_and_passed_over(caplog: pytest.LogCaptureFixture) -> None:
    def read(path: Path) -> str:
        if path.name == "damaged":
            raise CheckpointError("this one is damaged")
        return path.name

    with caplog.at_level(logging.WARNING):
        assert newest_readable([Path("old"), Path("good"), Path("damaged")], read) == "good"
    assert caplog.messages == ["a damaged checkpoint is passed over: this one is damaged"]
    assert newest_readable([Path("damaged")], read) is None


def test_a_checkpoint_tells_of_itself(tmp_path: Path) -> None:
    (path,) = made(tmp_path, "000001-0000000003")
    told = checkpoint_facts(path)
    assert (told["name"], told["generation"], told["updates"], told["metrics"]) == ("000001-0000000003", 1, 3, None)
