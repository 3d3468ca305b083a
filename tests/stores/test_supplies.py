from typing import Any

import pytest

from app.config.buffers import BufferConfig
from app.config.root import ExperimentConfig
from app.config.tables import TableConfig
from app.model_check import buffer_problems
from app.replay.supply import WhenFull
from app.stores.buffer_settings import batch_layout, buffer_settings

from .trajectories import SPEC


def config(workers: int = 1, batch_rows: int = 64, **buffer: Any) -> ExperimentConfig:
    inputs = [{"buffer": "rows", "batch_rows": batch_rows, "algorithm": {"minibatch_rows": 32}}]
    tree = {
        "run": {"project": "p", "trial": "t"},
        "buffers": {"rows": buffer},
        "trainers": {"main": {"model": "main", "inputs": inputs, "workers": workers}},
    }
    return ExperimentConfig.model_validate(tree)


def problem(**changes: Any) -> str:
    problems = buffer_problems(config(**changes))
    assert len(problems) == 1
    ((where, what),) = problems.items()
    return f"{where}: {what}"


def test_without_a_table_a_shard_keeps_its_share_of_a_round() -> None:
    assert buffer_settings(config(workers=4), "rows").capacity_rows == 4 * 64
    assert buffer_settings(config(workers=4, shards=2), "rows").capacity_rows == 2 * 64
    assert buffer_settings(config(workers=4, shards=8), "rows").capacity_rows == 64
    assert not buffer_problems(config(workers=4, shards=8))


def test_what_the_config_says_reaches_the_shards() -> None:
    settings = buffer_settings(config(when_full="refuse", shards=3, table={"capacity_items": 900}), "rows")
    assert (settings.when_full, settings.shards) == (WhenFull.REFUSE, 3)
    assert settings.table == TableConfig(capacity_items=900)


def test_large_batches_travel_as_tickets() -> None:
    small = batch_layout(SPEC, buffer_settings(config(), "rows"))
    large = batch_layout(SPEC, buffer_settings(config(batch_rows=64_000), "rows"))
    assert (small.ticketed, large.ticketed, large.tickets) == (False, True, 2)
    assert large.bytes == 1000 * small.bytes


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"capacity_rows": 63},
            "buffers.rows.capacity_rows: fifo needs 2 <= keep_rows <= capacity_rows, got 64 and 63",
        ),
        ({"table": {"capacity_items": 50, "limiter": {"kind": "min_size", "min_size_items": 60}}}, "wait for 60 rows"),
        (
            {"table": {"capacity_items": 500, "sampler": {"kind": "fifo"}, "limiter": {"kind": "queue"}}},
            "max_reuse must be 1, got None",
        ),
        (
            {
                "table": {
                    "capacity_items": 500,
                    "limiter": {
                        "kind": "samples_per_insert",
                        "samples_per_insert": 4,
                        "min_size_items": 64,
                        "error_buffer_items": 8,
                    },
                }
            },
            "samples of 64 rows and inserts could wait for each other",
        ),
        (
            {"table": {"capacity_items": 200, "sampler": {"kind": "newest"}}, "shards": 4},
            r"never holds over 50 \(of one of 4 shards\)",
        ),
    ],
)
def test_what_would_wait_for_ever_is_refused_with_the_numbers(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(AssertionError, match=said):
        raise AssertionError(problem(**changes))


def test_two_workers_need_a_table_that_serves_both() -> None:
    limiter = {
        "kind": "samples_per_insert",
        "samples_per_insert": 1,
        "min_size_items": 128,
        "error_buffer_items": 40,
    }
    one = {"table": {"capacity_items": 1000, "limiter": limiter}}
    assert not buffer_problems(config(**one))
    assert "samples of 128 rows" in problem(workers=2, **one)


def test_links_are_a_share_of_the_shards() -> None:
    assert [BufferConfig(shards=8, density=share).links for share in (1.0, 0.5, 0.01)] == [8, 4, 1]
