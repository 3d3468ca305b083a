"""Blocks of the stream."""

from typing import TYPE_CHECKING, cast

import numpy as np
import pytest
from ray.data.block import BlockAccessor

from app.replay.rows import empty_batch
from app.stores.buffer_settings import BatchLayout
from app.stores.dealer import Ticket
from tests.train.batches import COLUMNS, SPEC, TICKETED, buffer, pieces
from train.data import BLOCK_SHARE, block_bytes, read
from train.tickets import ticket_rows, tickets_of

if TYPE_CHECKING:
    from app.types import Rows


def test_a_block_is_one_take_and_the_end_of_the_stream_ends_it() -> None:
    taken = [[Ticket(5, 0, 9), Ticket(6, 0, 8)], {}, [Ticket(7, 0, 3)], None]
    blocks = [BlockAccessor.for_block(block).to_numpy() for block in read(buffer({}, taken), TICKETED, 1, "g")]
    assert [[ticket.batch for ticket in tickets_of(cast("Rows", block))] for block in blocks] == [[5, 6], [7]]


def test_a_small_batch_of_another_shard_is_fetched_into_the_stream() -> None:
    layout = BatchLayout(COLUMNS, 4)
    (block,) = read(buffer({9: pieces(3, 1)}, [[Ticket(5, 1, 9)], None]), layout, 1, "g")
    rows = cast("Rows", BlockAccessor.for_block(block).to_numpy())
    assert rows["reward"].tolist() == [0, 0, 0, 1]
    assert set(rows["batch"].tolist()) == {5}


@pytest.mark.parametrize("layout", [TICKETED, BatchLayout(COLUMNS, 4)])
def test_ray_data_ends_a_block_behind_each_batch_and_cuts_none(layout: BatchLayout) -> None:
    batch = (
        ticket_rows([Ticket(1, 0, 1)], 3)
        if layout.ticketed
        else empty_batch(SPEC, 4) | {"batch": np.zeros(4, np.int64)}
    )
    size, target = (
        BlockAccessor.for_block(BlockAccessor.batch_to_block(batch)).size_bytes(),
        BLOCK_SHARE * block_bytes(layout),
    )
    assert int(target) < size < 1.5 * int(target)
