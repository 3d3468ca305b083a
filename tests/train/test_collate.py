"""Tensors of what comes through the stream."""

import torch

from app.stores.buffer_settings import BatchLayout
from app.stores.dealer import EMPTY, Ticket
from app.types import RowKind
from tests.train.batches import COLUMNS, TICKETED, buffer, pieces
from train.collate import Collate
from train.tickets import ticket_rows


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
