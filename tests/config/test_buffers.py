"""Buffers in a config."""

from typing import Any

import pytest
from pydantic import ValidationError

from app.config.buffers import BufferConfig
from app.config.tables import (
    MinSizeLimit,
    PrioritizedSampling,
    SequenceItem,
    TableConfig,
    TransitionItem,
    UniformSampling,
)


def test_by_default_a_buffer_is_one_queue_that_drops_the_oldest() -> None:
    buffer = BufferConfig()
    assert (buffer.table, buffer.shards, buffer.links, buffer.when_full) == (None, 1, 1, "drop_oldest")


def test_a_table_needs_no_more_than_its_capacity() -> None:
    table = TableConfig(capacity_items=10)
    assert (table.item, table.sampler, table.limiter) == (TransitionItem(), UniformSampling(), MinSizeLimit())
    assert (table.remover, table.max_reuse, table.max_age_items, table.max_age_versions) == ("oldest", None, None, None)


def test_the_parts_of_a_table_are_told_apart_by_their_kind() -> None:
    buffer = BufferConfig.model_validate(
        {
            "table": {
                "capacity_items": 10,
                "sampler": {"kind": "prioritized", "exponent": 0.5},
                "item": {"kind": "sequence", "rows": 8, "overlap_rows": 2, "burn_in_rows": 1},
            }
        }
    )
    assert buffer.table is not None
    assert isinstance(buffer.table.sampler, PrioritizedSampling)
    assert isinstance(buffer.table.item, SequenceItem)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"capacity_rows": 5, "table": {"capacity_items": 10}}, "allowed beside a table is table.capacity_items"),
        ({"shards": 11, "table": {"capacity_items": 10}}, "allowed is at least one item a shard"),
        ({"density": 0.0}, "greater than 0"),
        ({"table": {"capacity_items": 10, "sampler": {"kind": "random"}}}, "prioritized"),
        (
            {"table": {"capacity_items": 10, "item": {"kind": "sequence", "rows": 4, "burn_in_rows": 2}}},
            "burn_in_rows < overlap_rows < rows",
        ),
    ],
)
def test_what_contradicts_itself_is_refused(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        BufferConfig.model_validate(wrong)
