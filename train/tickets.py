"""What stands for a large batch in the stream, and how it is changed for the rows; none of it needs torch."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from app.replay.supply import Parts, joined, padding
from app.stores.buffer import Buffer
from app.stores.buffer_settings import BatchLayout
from app.stores.buffer_store import numbered
from app.stores.dealer import EMPTY, Ticket
from app.types import Rows

NO_TICKET: Final = -1
"""Number of a batch that there is not: it fills a block of tickets."""

_log = logging.getLogger(__name__)


def ticket_rows(tickets: Sequence[Ticket], rows: int) -> Rows:
    """Returns tickets as a batch of a fixed number of rows, since Ray Data cuts larger blocks; see ``tickets_of``."""
    missing = [Ticket(NO_TICKET, EMPTY, 0)] * (rows - len(tickets))
    table = np.array([(ticket.batch, ticket.shard, ticket.number) for ticket in (*tickets, *missing)], np.int64)
    return dict(zip(("batch", "shard", "number"), np.ascontiguousarray(table.T), strict=True))


def tickets_of(rows: Mapping[str, NDArray[Any]]) -> list[Ticket]:
    """Returns the tickets of a block."""
    columns = (rows[name].tolist() for name in ("batch", "shard", "number"))
    return [Ticket(*values) for values in zip(*columns, strict=True) if values[0] != NO_TICKET]


def fetched(buffer: Buffer, layout: BatchLayout, ticket: Ticket) -> Rows:
    """Returns the rows of a ticket's batch; rows of weight 0 where they are gone."""
    (parts,) = fetched_parts(buffer, layout, [ticket])
    return numbered(joined(parts), ticket.batch)


def fetched_parts(buffer: Buffer, layout: BatchLayout, tickets: Sequence[Ticket]) -> list[Parts]:
    """Returns what tickets stand for.

    One may be gone with its shard; then its worker learns nothing from it, at the side of the others, who have theirs.
    """
    held = iter(buffer.fetch([ticket for ticket in tickets if ticket.shard != EMPTY]))
    found: list[Parts] = []
    for ticket in tickets:
        parts = None if ticket.shard == EMPTY else next(held)
        if parts is None and ticket.shard != EMPTY:
            _log.warning(
                "batch %d is gone from shard %d of the buffer, which has restarted", ticket.batch, ticket.shard
            )
        found.append(parts or [padding(layout.columns, layout.rows)])
    return found
