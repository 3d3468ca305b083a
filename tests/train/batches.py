"""A buffer that holds pieces of batches, in place of a running one."""

from collections.abc import Sequence
from typing import cast

from app.replay.rows import empty_batch, row_dtypes
from app.replay.supply import Parts
from app.stores.buffer import Buffer
from app.stores.buffer_settings import BatchLayout
from app.stores.dealer import Ticket
from app.types import Rows
from tests.small_policy import discrete

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
