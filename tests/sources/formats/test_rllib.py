"""Files of RLlib 2.60's offline writers, their lines and bytes as it has written them."""

from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import orjson
import pyarrow as pa
import pytest
from pyarrow import parquet

from app.errors import SourceError
from app.sources.formats.rllib import FIELDS, RllibShard
from app.sources.stored import Columns
from tests.sources.made import episode

from .rows import assert_equal, expected, read, table

COMPRESSED = "BCJNGGhAkQAAAAAAAADYhwAAAFKABZWGAAEA8hqME251bXB5Ll9jb3JlLm51bWVyaWOUjAtfZnJvbWJ1ZmZlcpSTlC=="


def sample_batch(columns: Columns, **more: object) -> dict[str, Any]:
    columns = columns | {"episode": np.array([7, 7, 7, 9])}
    named = {FIELDS[name]: column.tolist() for name, column in columns.items()}
    return {"type": "SampleBatch", **named, "infos": [{}] * 4, **more}


def written(folder: Path, *lines: object) -> RllibShard:
    path = folder / "output-2026_worker-0_0.json"
    path.write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in lines))
    return RllibShard(path, {})


def test_lines_of_sample_batches_are_read(tmp_path: Path) -> None:
    shard = written(tmp_path, sample_batch(table()))
    rows = read(shard)
    assert [each["episode"].tolist() for each in rows] == [[7] * 4, [9] * 2]
    for each, number in zip(rows, (0, 1), strict=True):
        each["episode"] = np.full(len(each["kind"]), number)
    assert_equal(rows, expected())


def test_the_batch_of_the_only_policy_is_read(tmp_path: Path) -> None:
    batch = sample_batch(table())
    line = {"type": "MultiAgentBatch", "count": 4, "policy_batches": {"default_policy": batch}}
    assert len(read(written(tmp_path, line))) == 2
    line["policy_batches"] = {"red": batch, "blue": batch}
    with pytest.raises(SourceError, match="got batches of blue, red; allowed is one policy a file"):
        list(written(tmp_path, line))


def test_a_fragment_whose_game_went_on_elsewhere_bootstraps(tmp_path: Path) -> None:
    batch = {"type": "SampleBatch", "obs": [[0, 0], [1, 1]], "new_obs": [[1, 1], [2, 2]], "actions": [0, 1]}
    flags = {"rewards": [1, 1], "terminateds": [False, False], "truncateds": [False, False], "eps_id": [3, 3]}
    (rows,) = read(written(tmp_path, batch | flags))
    assert rows["kind"].tolist() == [0, 0, 1]
    assert rows["observation"][-1].tolist() == [2, 2]


def test_compressed_columns_are_pickles_and_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"line 1: obs are compressed.*output_compress_columns=\[\]"):
        list(written(tmp_path, sample_batch(table(), obs=COMPRESSED)))
    with pytest.raises(SourceError, match="line 1: got no SampleBatch"):
        list(written(tmp_path, {"type": "SampleBatch"}))


def test_tables_of_steps_are_read(tmp_path: Path) -> None:
    columns = {FIELDS[name]: column.tolist() for name, column in table().items()}
    columns |= {"eps_id": ["a", "a", "a", "b"], "agent_id": ["x"] * 4}
    parquet.write_table(pa.table(columns), tmp_path / "steps.parquet")
    assert_equal(read(RllibShard(tmp_path / "steps.parquet", {})), expected())


def encoded(value: Any) -> dict[bytes, Any]:
    """Returns an array as msgpack-numpy writes it."""
    if value.dtype.kind == "O":
        return {b"nd": True, b"type": "|O", b"kind": b"O", b"shape": value.shape, b"data": b"a pickle"}
    if not value.ndim:
        return {b"nd": False, b"type": value.dtype.str, b"data": value.tobytes()}
    return {b"nd": True, b"type": value.dtype.str, b"kind": b"", b"shape": value.shape, b"data": value.tobytes()}


def packed(columns: Columns, before: int = 0) -> bytes:
    """Returns the state of a SingleAgentEpisode; ``before`` rows of another one stand before it."""

    def buffer(rows: Any) -> dict[str, Any]:
        return {"data": [*[rows[0]] * before, *rows], "lookback": before, "finalized": False, "space": None}

    state = {
        "observations": buffer(columns["observation"]),
        "actions": buffer(columns["action"]),
        "rewards": buffer(columns["reward"].tolist()),
        "infos": {"data": np.array([None], object), "lookback": 0},
        "extra_model_outputs": None,
        "is_terminated": bool(columns["terminated"][-1]),
        "is_truncated": bool(columns["truncated"][-1]),
    }
    return bytes(msgpack.packb(state, default=encoded))


@pytest.mark.parametrize("before", [0, 2])
def test_packed_episodes_are_read_without_their_lookback(tmp_path: Path, before: int) -> None:
    items = [packed(episode(3, 0), before), packed(episode(1, 1, terminated=False), before)]
    parquet.write_table(pa.table({"item": items}), tmp_path / "episodes.parquet")
    assert_equal(read(RllibShard(tmp_path / "episodes.parquet", {})), expected())


def test_other_bytes_are_no_episode(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"item": [b"\xc1"]}), tmp_path / "episodes.parquet")
    with pytest.raises(SourceError, match=r"episode 0: .*allowed is the state of a SingleAgentEpisode"):
        list(RllibShard(tmp_path / "episodes.parquet", {}))
