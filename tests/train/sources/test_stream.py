"""What a worker's read task yields, without Ray."""

from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from ray.data.block import Block, BlockAccessor

from app.config.root import ExperimentConfig
from app.replay.rows import empty_batch
from app.sources.position import START, Place, Position
from app.stores.gate import Gate, Opened
from tests.sources.made import FLAT, episode
from train.data import BLOCK_SHARE, size_of
from train.sources import stream as module
from train.sources.stream import SourceStream, filled, marks

ROWS = 16


class FakeGate:
    """Lets a worker have so many batches."""

    def __init__(self, batches: int, begin: Position = START) -> None:
        self.batches, self.begin = batches, begin
        self.asked: list[int] = []
        self.exhausted = False

    def open(self, rank: int, group: str, ranks: int, credits_batches: int) -> Opened:
        return Opened(Place(self.begin), 100)

    def admit(self, rank: int, group: str, number: int) -> bool:
        self.asked.append(number)
        return number < self.batches

    def exhaust(self, rank: int, group: str) -> None:
        self.exhausted = True


def doubled(columns: dict[str, Any]) -> dict[str, Any]:
    return {**columns, "observation": np.asarray(columns["wide"][:, :2], np.float32)}


@pytest.fixture
def stream(tmp_path: Path) -> SourceStream:
    parts = [episode(5, number) for number in range(6)]
    for part in parts:
        part["observation"] = part["observation"][:-1]
    np.savez(tmp_path / "a.npz", **{key: np.concatenate([part[key] for part in parts]) for key in parts[0]})  # type: ignore[arg-type]
    source = {"kind": "npz", "path": str(tmp_path), "epochs": 1}
    config = ExperimentConfig.model_validate({"run": {"project": "p", "trial": "t"}, "sources": {"demos": source}})
    return SourceStream(config, "demos", FLAT, ROWS, 1, cast("Gate", FakeGate(10)))


def blocks(stream: SourceStream, gate: FakeGate) -> list[dict[str, Any]]:
    with_gate = SourceStream(stream.config, "demos", FLAT, ROWS, 1, cast("Gate", gate))
    return [_columns(block) for block in with_gate.read(0, "group", 0)]


def _columns(block: Block) -> dict[str, Any]:
    return cast("dict[str, Any]", BlockAccessor.for_block(block).to_numpy())


def test_each_block_is_a_batch_with_its_number_and_the_place_behind_it(stream: SourceStream) -> None:
    gate = FakeGate(10)
    found = blocks(stream, gate)
    assert [len(batch["kind"]) for batch in found] == [ROWS] * 3  # 36 rows, and two for cuts.
    assert [set(batch["batch"].tolist()) for batch in found] == [{100}, {101}, {102}]
    assert found[-1]["position"][0].tolist() == [1, 0, 0, 0]
    assert (gate.asked, gate.exhausted) == ([0, 1, 2], True)
    again = blocks(stream, FakeGate(10, Position(*found[0]["position"][0].tolist())))
    assert [batch["reward"].tolist() for batch in again] == [batch["reward"].tolist() for batch in found[1:]]


def test_the_stream_ends_where_the_gate_says(stream: SourceStream) -> None:
    gate = FakeGate(1)
    assert len(blocks(stream, gate)) == 1
    assert (gate.asked, gate.exhausted) == ([0, 1], False)


@pytest.mark.parametrize("width", [1, 2, 3, 64, 400])
def test_batches_as_stored_and_as_preprocessed_are_blocks_of_one_size(stream: SourceStream, width: int) -> None:
    stored: Any = empty_batch(FLAT, ROWS) | {"wide": np.zeros((ROWS, max(2, width)))} | marks(ROWS, 0, START)
    if width > 2:
        del stored["observation"]
    source = stream.config.sources["demos"].model_copy(update={"preprocess": f"{__name__}:doubled"})
    config = stream.config.model_copy(update={"sources": {"demos": source}})
    preprocessed = SourceStream(config, "demos", FLAT, ROWS, 1, stream.gate)
    wanted, have = size_of(empty_batch(FLAT, ROWS) | marks(ROWS, 0, START)), size_of(stored)
    target = BLOCK_SHARE * max(wanted, have)
    read = filled(stored, max(0, wanted - have))
    made = partial(module._preprocessed, stream=preprocessed, filler_bytes=max(0, have - wanted))(dict(read))
    for batch in (read, made):
        assert target < size_of(batch) < 1.5 * target
