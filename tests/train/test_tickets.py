"""What stands for a large batch."""

import pytest

from app.stores.dealer import EMPTY, Ticket
from app.types import RowKind
from tests.train.batches import TICKETED, buffer
from train.tickets import fetched, ticket_rows, tickets_of


def test_tickets_survive_their_block_whatever_their_number() -> None:
    for tickets in ([], [Ticket(5, 0, 9)], [Ticket(5, 0, 9), Ticket(6, EMPTY, 0), Ticket(7, 2, 3)]):
        rows = ticket_rows(tickets, 3)
        assert {len(column) for column in rows.values()} == {3}
        assert tickets_of(rows) == tickets


def test_nothing_is_learned_from_a_batch_that_is_gone_which_is_told(caplog: pytest.LogCaptureFixture) -> None:
    rows = fetched(buffer({}), TICKETED, Ticket(5, 2, 9))
    assert set(rows["kind"].tolist()) == {RowKind.LOST}
    assert set(rows["batch"].tolist()) == {5}
    assert caplog.messages == ["batch 5 is gone from shard 2 of the buffer, which has restarted"]
