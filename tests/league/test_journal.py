"""What is acknowledged is in the file; what was torn off at the end is cut, and told."""

import logging
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import LeagueError
from app.league.journal import FRAME, MAGIC, Journal, cut_torn_end, read_segment, segment_path, segments

RECORDS = [b"first", b"", b"the third one"]


def journal_of(folder: Path, records: list[bytes]) -> Path:
    journal = Journal(folder, 1, fsync=False)
    for record in records:
        journal.append(record)
    journal.close()
    return segment_path(folder, 1)


def test_records_come_back_in_order(tmp_path: Path) -> None:
    path = journal_of(tmp_path, RECORDS)
    assert read_segment(path) == (RECORDS, path.stat().st_size, path.stat().st_size)


def test_another_start_appends(tmp_path: Path) -> None:
    journal_of(tmp_path, RECORDS)
    assert read_segment(journal_of(tmp_path, [b"later"])).records == [*RECORDS, b"later"]


def test_nothing_is_in_the_file_before_it_is_written(tmp_path: Path) -> None:
    journal = Journal(tmp_path, 1)
    journal.append(b"one")
    assert (journal.behind, read_segment(segment_path(tmp_path, 1)).records) == (1, [])
    journal.write()
    assert (journal.behind, read_segment(segment_path(tmp_path, 1)).records) == (0, [b"one"])
    journal.close()


def test_a_torn_end_is_cut_at_any_byte_with_one_message(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    data = journal_of(tmp_path / "whole", RECORDS).read_bytes()
    ends = [len(MAGIC)]
    for record in RECORDS:
        ends.append(ends[-1] + FRAME.size + len(record))
    for size in range(len(data) + 1):
        folder = tmp_path / str(size)
        folder.mkdir()
        path = segment_path(folder, 1)
        path.write_bytes(data[:size])
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            whole = cut_torn_end(path).records
        assert whole == RECORDS[: sum(end <= size for end in ends[1:])]
        assert len(caplog.records) == (size not in ends and size > 0)
        assert read_segment(journal_of(folder, [b"later"])).records == [*whole, b"later"]


@given(st.data())
def test_a_changed_byte_ends_what_is_read(data: st.DataObject) -> None:
    # Written by hand, since the folder of a test is not made anew for each example.
    from tempfile import TemporaryDirectory  # noqa: PLC0415

    with TemporaryDirectory() as folder:
        path = journal_of(Path(folder), RECORDS)
        written = bytearray(path.read_bytes())
        at = data.draw(st.integers(len(MAGIC), len(written) - 1))
        written[at] ^= data.draw(st.integers(1, 255))
        path.write_bytes(written)
        found = read_segment(path)
        assert found.records == RECORDS[: len(found.records)]
        assert len(found.records) < len(RECORDS)
        assert found.good_bytes <= at


def test_segments_follow_each_other(tmp_path: Path) -> None:
    journal = Journal(tmp_path, 1)
    journal.append(b"one")
    journal.rotate(2)
    journal.append(b"two")
    journal.append(b"three")
    journal.rotate(3)
    journal.close()
    assert segments(tmp_path) == [1, 2, 3]
    assert [read_segment(segment_path(tmp_path, number)).records for number in (1, 2, 3)] == [
        [b"one"],
        [b"two", b"three"],
        [],
    ]


def test_what_a_full_disk_refused_is_written_later_and_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal(tmp_path, 1)
    journal.append(b"one")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space"):
            journal.write()
    assert read_segment(segment_path(tmp_path, 1)).records == []
    journal.append(b"two")
    journal.close()
    assert read_segment(segment_path(tmp_path, 1)).records == [b"one", b"two"]


def test_other_files_and_damaged_ones_are_refused(tmp_path: Path) -> None:
    path = segment_path(tmp_path, 1)
    path.write_bytes(b"something else altogether")
    with pytest.raises(LeagueError, match="is no journal of a league"):
        read_segment(path)
    path.write_bytes(MAGIC + b"xx")
    with pytest.raises(LeagueError, match="damaged at byte 26 of 28"):
        Journal(tmp_path, 1)
    with pytest.raises(LeagueError, match="cannot be read"):
        read_segment(tmp_path / "nowhere")
    (tmp_path / "file").write_text("")
    with pytest.raises(LeagueError, match="cannot be opened"):
        Journal(tmp_path / "file", 1)
