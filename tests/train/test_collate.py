from collections.abc import Sequence
from typing import cast

import numpy as np
import pytest
import torch
from ray.data.block import BlockAccessor

from app.replay.rows import empty_batch, row_dtypes
from app.replay.supply import Parts
from app.stores.buffer import Buffer
from app.stores.buffer_settings import BatchLayout
from app.stores.dealer import EMPTY, Ticket
from app.types import RowKind, Rows
from tests.small_policy import discrete
from train.collate import Collate
from train.data import BLOCK_SHARE, block_bytes, read
from train.tickets import fetched, ticket_rows, tickets_of

SPEC = discrete((2,), 2)
COLUMNS = row_dtypes(SPEC)
TICKETED = BatchLayout(COLUMNS, 4, ticketed=True, tickets=3)


class FakeBuffer:
    """Holds the pieces of batches by number."""

    def __init__(self, held: dict[int, Parts], taken: Sequence[Rows | list[Ticket] | None] = ()) -> None:
        self._held, self._taken = held, iter(taken)

    def fetch(self, tickets: Sequence[Ticket]) -> list[Parts | None]:
        return [self._held.get(ticket.number) for ticket in tickets]

    def open(self, rank: int, group: str, ranks: int | None) -> None:
        assert (rank, group) == (1, "g")

    def take(self, rank: int, group: str) -> Rows | list[Ticket] | None:
        return next(self._taken)


def pieces(*sizes: int) -> Parts:
    parts = [empty_batch(SPEC, size) for size in sizes]
    for at, part in enumerate(parts):
        part["reward"][:] = at
        for column in part.values():
            column.flags.writeable = False  # As it comes out of the object store.
    return parts


def buffer(*args: object) -> Buffer:
    return cast("Buffer", FakeBuffer(*args))  # type: ignore[arg-type]


def test_tickets_survive_their_block_whatever_their_number() -> None:
    for tickets in ([], [Ticket(5, 0, 9)], [Ticket(5, 0, 9), Ticket(6, EMPTY, 0), Ticket(7, 2, 3)]):
        rows = ticket_rows(tickets, 3)
        assert {len(column) for column in rows.values()} == {3}
        assert tickets_of(rows) == tickets


def test_the_pieces_of_each_ticket_become_one_batch() -> None:
    collate = Collate(buffer({9: pieces(3, 1), 3: pieces(4)}), TICKETED)
    first, empty, last = collate(ticket_rows([Ticket(5, 0, 9), Ticket(6, EMPTY, 0), Ticket(7, 2, 3)], 3))
    assert first["reward"].tolist() == [0, 0, 0, 1]
    assert [set(batch["batch"].tolist()) for batch in (first, empty, last)] == [{5}, {6}, {7}]
    assert set(empty["kind"].tolist()) == {RowKind.LOST}
    first["reward"] += 1  # A learner may write to what it got.
    assert first["observation"].dtype == torch.float32


def test_a_whole_batch_is_given_memory_of_its_own() -> None:
    (rows,) = pieces(4)
    (batch,) = Collate(buffer({}), BatchLayout(COLUMNS, 4))(rows)
    batch["reward"] += 1
    assert rows["reward"].tolist() == [0, 0, 0, 0]


def test_nothing_is_learned_from_a_batch_that_is_gone_which_is_told(caplog: pytest.LogCaptureFixture) -> None:
    rows = fetched(buffer({}), TICKETED, Ticket(5, 2, 9))
    assert set(rows["kind"].tolist()) == {RowKind.LOST}
    assert set(rows["batch"].tolist()) == {5}
    assert caplog.messages == ["batch 5 is gone from shard 2 of the buffer, which has restarted"]


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
