"""What is recorded is read back equal: nested observations, images, short episodes."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from app.agents.game_log import About, Entry, Played
from app.agents.outbox import Outbox
from app.agents.unroll import Row, Step, Unroll
from app.errors import SourceError
from app.models.question import Decision
from app.models.spec import ModelSpec
from app.recordings.files import write_table
from app.recordings.privacy import Privacy
from app.recordings.table import table
from app.sources.fitting import fields_of
from app.sources.formats.recordings import RecordingShard
from app.sources.trajectory import trajectory
from app.types import Amount, Purpose, RowKind, Rows, Version
from tests.sources.made import FLAT, NESTED

NAMED = replace(FLAT, rewards=("win", "health"))


def episodes_of(spec: ModelSpec, lengths: list[tuple[int, RowKind]]) -> list[list[Row]]:
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
    return rows


def as_columns(spec: ModelSpec, episodes: list[list[Row]]) -> Rows:
    outbox = Outbox(spec, 10**6, lambda: None)
    for each in episodes:
        outbox.add(each)
    return outbox.take()


def played(episodes: list[list[Row]]) -> list[Played]:
    """Returns each episode as a session that was stopped, with a start from which nobody learns."""
    found = []
    for number, rows in enumerate(episodes):
        start = Entry("start", 0, 0.0, 0, b'{"greedy":true}', None)
        steps = [Entry("tick" if row.kind == 0 else "stop", at + 1, 1.0, at, rows=[row]) for at, row in enumerate(rows)]
        about = About(f"s{number}", f"g{number}", "player", Purpose.TRAIN, number)
        found.append(Played(about, "every", [start, *steps]))
    return found


@pytest.mark.parametrize("spec", [FLAT, NESTED, NAMED])
def test_recorded_episodes_are_read_back_equal_to_the_bit(tmp_path: Path, spec: ModelSpec) -> None:
    episodes = episodes_of(
        spec, [(3, RowKind.TERMINATED), (1, RowKind.TRUNCATED), (1, RowKind.LOST), (2, RowKind.TRUNCATED)]
    )
    path = tmp_path / "recordings" / "player.parquet"
    written = table(played(episodes), spec, Privacy(), {"agent": "player"})
    assert write_table(path, written) == path.stat().st_size
    read = [trajectory(stored, fields_of(spec), 0) for stored in RecordingShard(path, {})]
    assert [None if rows is None else len(rows["kind"]) for rows in read] == [4, 2, 2, 3]
    for name, column in as_columns(spec, episodes).items():
        got = np.concatenate([rows[name] for rows in read if rows is not None])
        assert (got.dtype, got.shape) == (column.dtype, column.shape)
        assert got.tobytes() == column.tobytes(), name
    assert not list(path.parent.glob("*.part"))


def test_another_table_or_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    parquet.write_table(pa.table({"reward": [1.0]}), path)
    with pytest.raises(SourceError, match=r"schema version is none; allowed is 2: .* kind parquet"):
        list(RecordingShard(path, {}))
    path.write_bytes(b"nothing")
    with pytest.raises(SourceError, match="allowed is a recording"):
        list(RecordingShard(path, {}))
