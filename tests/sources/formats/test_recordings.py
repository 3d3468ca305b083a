"""What is recorded is read back equal: nested observations, images, short episodes."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from app.agents.outbox import Outbox
from app.agents.unroll import Row, Step, Unroll
from app.errors import SourceError
from app.models.question import Decision
from app.models.spec import ModelSpec
from app.sources.fitting import fields_of
from app.sources.formats.recordings import RecordingShard, remove_oldest, write_recording
from app.sources.trajectory import trajectory
from app.types import Amount, RowKind, Rows, Version
from tests.sources.made import FLAT, NESTED

NAMED = replace(FLAT, rewards=("win", "health"))


def rows_of(spec: ModelSpec, lengths: list[tuple[int, RowKind]]) -> Rows:
    """Returns episodes of a game whose numbers are random, as an agent collects them."""
    rng = np.random.default_rng(4)
    rows: list[list[Row]] = []

    def value(leaf: object) -> np.ndarray:
        shape, dtype = leaf.shape, np.dtype(leaf.dtype)  # type: ignore[attr-defined]
        return rng.integers(0, 4, shape).astype(dtype) if dtype.kind in "iu" else rng.normal(size=shape).astype(dtype)

    def amount() -> Amount:
        return rng.normal(size=spec.reward_shape).astype(np.float32) if spec.rewards else float(rng.normal())

    for number, (steps, kind) in enumerate(lengths):
        unroll = Unroll(2**40 + number, None, rows.append)
        for t in range(steps):
            observation = spec.inputs.unflatten([value(leaf) for leaf in spec.inputs.leaves])
            action = spec.actions.unflatten([value(leaf) for leaf in spec.actions.leaves])
            mask = spec.actions.unflatten(
                [np.arange(leaf.choices) != t if leaf.choices else None for leaf in spec.actions.leaves]
            )
            unroll.decided(Step(observation, mask, Decision(action, float(rng.normal()), amount(), Version(2, number))))
            unroll.reward(amount())
        unroll.cut(kind, spec.inputs.unflatten([value(leaf) for leaf in spec.inputs.leaves]))
    outbox = Outbox(spec, 10**6, lambda: None)
    for each in rows:
        outbox.add(each)
    return outbox.take()


@pytest.mark.parametrize("spec", [FLAT, NESTED, NAMED])
def test_recorded_episodes_are_read_back_equal_to_the_bit(tmp_path: Path, spec: ModelSpec) -> None:
    wanted = rows_of(spec, [(3, RowKind.TERMINATED), (1, RowKind.TRUNCATED), (1, RowKind.LOST), (2, RowKind.TRUNCATED)])
    path = tmp_path / "recordings" / "player.parquet"
    assert write_recording(path, wanted, {"agent": "player"}) == path.stat().st_size
    read = [trajectory(stored, fields_of(spec), 0) for stored in RecordingShard(path, {})]
    assert [None if rows is None else len(rows["kind"]) for rows in read] == [4, 2, 2, 3]
    for name, column in wanted.items():
        got = np.concatenate([rows[name] for rows in read if rows is not None])
        assert (got.dtype, got.shape) == (column.dtype, column.shape)
        assert got.tobytes() == column.tobytes(), name
    assert not list(path.parent.glob("*.part"))


def test_another_table_or_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    parquet.write_table(pa.table({"reward": [1.0]}), path)
    with pytest.raises(SourceError, match="schema version is none; allowed is 1, or kind parquet"):
        list(RecordingShard(path, {}))
    path.write_bytes(b"nothing")
    with pytest.raises(SourceError, match="allowed is a recording"):
        list(RecordingShard(path, {}))


def test_the_oldest_files_of_one_agent_leave_until_the_rest_is_small_enough(tmp_path: Path) -> None:
    for name in ("red-1", "red-2", "red-3", "blue-1"):
        (tmp_path / f"{name}.parquet").write_bytes(b"x" * 100)
    assert remove_oldest(tmp_path, "red-", 250) == 1
    assert sorted(path.stem for path in tmp_path.iterdir()) == ["blue-1", "red-2", "red-3"]
    assert remove_oldest(tmp_path, "red-", 10) == 1
    assert sorted(path.stem for path in tmp_path.iterdir()) == ["blue-1", "red-3"]
