import re
from pathlib import Path
from typing import Any

import pytest

from app.config.tables import PrioritizedSampling, SamplesPerInsertLimit, TableConfig, TransitionItem
from app.errors import CheckpointError
from app.stores.shard import ShardStore
from app.stores.table_keeper import Restored
from tests.small_policy import discrete

from .test_shard import drawn, settings, table
from .trajectories import SPEC, trajectory


def shard(kept: TableConfig | None = None, number: int = 0, **changes: Any) -> ShardStore:
    return ShardStore(SPEC, settings(table=kept or table(), **changes), number)


def damage(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


async def held(one: ShardStore) -> int:
    return (await one.shard_stats()).supply.held


@pytest.fixture
async def saved(tmp_path: Path) -> Path:
    """Returns the file of a table of 20 items."""
    one = shard()
    await one.push("a", 1, trajectory(20))
    await one.write_table(tmp_path / "0.npz")
    return tmp_path / "0.npz"


async def test_games_that_began_before_their_rows_follow_behind(saved: Path) -> None:
    one = shard()
    await one.push("a", 1, trajectory(5))
    assert await one.restore_table(saved) == Restored(20)
    assert await held(one) == 25


async def test_nothing_is_loaded_over_rows_that_are_learned_from(saved: Path) -> None:
    one = shard()
    await one.push("a", 1, trajectory(5))
    await drawn(one)
    assert await one.restore_table(saved) == Restored()
    assert await held(one) == 5


async def test_a_table_is_not_loaded_over_itself(tmp_path: Path) -> None:
    one = shard()
    await one.push("a", 1, trajectory(5))
    await one.write_table(tmp_path / "0.npz")
    await one.push("a", 2, trajectory(5))
    assert await one.restore_table(tmp_path / "0.npz") == Restored()
    assert await held(one) == 10


async def test_a_table_is_loaded_once(saved: Path, tmp_path: Path) -> None:
    one = shard()
    assert await one.restore_table(saved) == Restored(20)
    assert await one.restore_table(saved) == Restored()
    await one.write_table(tmp_path / "1.npz")
    assert await one.restore_table(tmp_path / "1.npz") == Restored()
    assert await held(one) == 20


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"seed": 3}, "seed is 0, here 3"),
        ({"kept": table(capacity_items=50)}, "capacity_items is 100, here 50"),
        ({"kept": table(item=TransitionItem(steps=3))}, r'item is \{"kind":"transition","steps":1,.*here .*"steps":3'),
        (
            {"kept": table(limiter=SamplesPerInsertLimit(samples_per_insert=2, error_buffer_items=50))},
            'limiter is .*"min_size".*, here .*"samples_per_insert":2',
        ),
        ({"number": 1, "shards": 2}, "shard is 0 of 1, here 1 of 2"),
    ],
)
async def test_a_table_of_another_kind_is_refused_with_the_difference(
    saved: Path, changes: dict[str, Any], problem: str
) -> None:
    one = shard(**changes)
    refused = (await one.restore_table(saved)).refused
    assert refused is not None
    assert re.search(problem, refused)
    assert await held(one) == 0


async def test_a_table_of_another_model_is_refused(saved: Path) -> None:
    one = ShardStore(discrete((3,), 2), settings(table=table()))
    refused = (await one.restore_table(saved)).refused
    assert refused is not None
    assert "observation float32[2]" in refused
    assert "observation float32[3]" in refused


async def test_another_sampler_takes_the_table_over(saved: Path) -> None:
    one = shard(table(sampler=PrioritizedSampling(), max_age_items=15))
    assert await one.restore_table(saved) == Restored(20)
    await drawn(one)


async def test_a_damaged_table_is_refused_and_the_shard_begins_empty(saved: Path) -> None:
    damage(saved)
    one = shard()
    refused = (await one.restore_table(saved)).refused
    assert refused is not None
    assert "cannot read the table" in refused
    assert await held(one) == 0


async def test_a_table_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="cannot write the table"):
        await shard().write_table(tmp_path / "nowhere" / "0.npz")
