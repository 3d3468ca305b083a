"""Saved tables on disk: whole or absent, whenever their writer is killed."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from app.errors import CheckpointError
from app.models.folders import UNFINISHED
from app.stores.table_file import read_about, read_table
from app.stores.table_folder import Write, shard_file, table_folder, table_of, write_tables

ROOT = Path(__file__).parents[2]
WRITER = """
import asyncio
import sys
from itertools import count
from pathlib import Path

import numpy as np

from app.stores.table_file import About, write_table
from app.stores.table_folder import write_tables

folder, stop_at = Path(sys.argv[1]), sys.argv[2]

def tell(word):
    print(word, flush=True)

async def write(path):
    state = {"numbers": np.full(20_000, number)}
    await asyncio.to_thread(write_table, path, About({}, str(number)), state)

async def half(path):
    path.write_bytes(b"PK half of a table")
    tell("half of it is written")
    sys.stdin.read()  # For ever.

def moved(path, target):
    tell("a file is moved to its place")
    sys.stdin.read()

for number in count(1):
    if stop_at == "moved" and number == 3:
        Path.rename = moved
    second = half if stop_at == "half" and number == 3 else write
    asyncio.run(write_tables(folder / f"000001-{number:010d}", [write, second]))
    tell(number)
"""


def content(text: str) -> Write:
    async def write(path: Path) -> None:
        path.write_text(text)  # noqa: ASYNC240  # A few bytes.

    return write


async def failing(path: Path) -> None:
    raise CheckpointError("no room")


async def elsewhere(path: Path) -> None:
    """Writes to the disk of another machine."""


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_newest_table_of_a_checkpoint_or_of_one_before_it_is_found(tmp_path: Path) -> None:
    folder = table_folder(tmp_path, "replay")
    assert table_of(folder, 1, 5) is None
    for name in ("000001-0000000010", "000001-0000000020.01", "000002-0000000015", f"{UNFINISHED}000001-0000000012"):
        (folder / name).mkdir(parents=True)
    assert table_of(folder, 1, 9) is None
    assert table_of(folder, 1, 19) == folder / "000001-0000000010"
    assert table_of(folder, 1, 20) == folder / "000001-0000000020.01"
    assert table_of(folder, 2, 14) == folder / "000001-0000000020.01"
    assert table_of(folder, 3, 0) == folder / "000002-0000000015"


async def test_a_table_takes_the_place_of_the_one_before(tmp_path: Path) -> None:
    await write_tables(tmp_path / "000001-0000000001", [content("a"), content("b")])
    await write_tables(tmp_path / "000001-0000000002", [content("c"), content("d")])
    assert names(tmp_path) == ["000001-0000000002"]
    assert [shard_file(tmp_path / "000001-0000000002", shard).read_text() for shard in (0, 1)] == ["c", "d"]


@pytest.mark.parametrize(
    ("write", "problem"),
    [(failing, "no room"), (elsewhere, "shards on other machines need a shared folder")],
)
async def test_a_shard_that_is_not_written_leaves_the_table_before(tmp_path: Path, write: Write, problem: str) -> None:
    await write_tables(tmp_path / "000001-0000000001", [content("a"), content("b")])
    with pytest.raises(CheckpointError, match=problem):
        await write_tables(tmp_path / "000001-0000000002", [content("c"), write])
    assert names(tmp_path) == ["000001-0000000001"]


async def test_what_writers_left_that_were_killed_goes_with_the_next_table(tmp_path: Path) -> None:
    (tmp_path / f"{UNFINISHED}000001-0000000001-abc").mkdir()
    await write_tables(tmp_path / "000001-0000000002", [content("c")])
    assert names(tmp_path) == ["000001-0000000002"]


@pytest.mark.slow
@pytest.mark.parametrize(("stop_at", "words"), [("half", 3), ("moved", 3), ("never", 2), ("never", 7), ("never", 12)])
def test_a_writer_that_is_killed_leaves_a_whole_table(tmp_path: Path, stop_at: str, words: int) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path), stop_at],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        text=True,
    )
    assert process.stdout is not None
    said = [process.stdout.readline().strip() for _ in range(words)]
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=20)
    newest = table_of(tmp_path, 1, 10**9)
    assert newest is not None
    written = int(newest.name.partition("-")[2])
    assert written >= int(said[-1] if stop_at == "never" else 2)
    for shard in (0, 1):
        path = shard_file(newest, shard)
        assert read_about(path).origin == str(written)
        assert set(read_table(path)["numbers"].tolist()) == {written}
