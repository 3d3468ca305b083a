"""One shard's side of saving tables: writes its own, and takes a saved one over."""

import asyncio
import secrets
from dataclasses import dataclass
from pathlib import Path

from app.errors import CheckpointError
from app.models.spec import ModelSpec
from app.replay.rows import row_dtypes
from app.replay.table_supply import TableSupply
from app.stores.buffer_settings import BufferSettings
from app.stores.table_file import About, Form, difference, read_about, read_table, write_table
from app.stores.table_items import items_of


@dataclass(frozen=True, slots=True)
class Restored:
    """What became of a saved table."""

    items: int = 0
    """That a shard has again."""
    refused: str | None = None
    """Why its shard begins without it; None where it has it, or lives on with newer rows."""


class TableKeeper:
    """Writes the table of one shard and takes over a saved one, unless its own is in use."""

    def __init__(self, supply: TableSupply, form: Form) -> None:
        """Keeps the table.

        Args:
          supply: Whose table.
          form: What a saved one must have in common with it.
        """
        self._supply, self._form = supply, form
        self._origin = secrets.token_hex(8)

    async def write(self, path: Path) -> None:
        """Writes the table as it is now; meanwhile it goes on, at the price of a copy in memory.

        Raises:
          CheckpointError: It cannot be written.
        """
        state, about = self._supply.state_dict(), About(self._form, self._origin)
        try:
            await asyncio.to_thread(write_table, path, about, state)
        except OSError as error:
            raise CheckpointError(f"cannot write the table {path}: {error}") from error

    async def restore(self, path: Path) -> Restored:
        """Takes over a saved table, behind whose items those follow that came before it.

        Nothing happens where batches were sampled from this one, or where it is the very table that was saved.
        """
        try:
            about = await asyncio.to_thread(read_about, path)
            if self._is_in_use(about):
                return Restored()
            if (problem := difference(about.form, self._form)) is not None:
                return Restored(refused=f"{path} is of another table: {problem}")
            state = await asyncio.to_thread(read_table, path)
            if self._is_in_use(about):
                return Restored()
            items = self._supply.take_over(state)
        except CheckpointError as error:
            return Restored(refused=str(error))
        self._origin = about.origin
        return Restored(items)

    def _is_in_use(self, saved: About) -> bool:
        return saved.origin == self._origin or self._supply.stats().popped > 0


def make_keeper(supply: TableSupply, spec: ModelSpec, settings: BufferSettings, shard: int) -> TableKeeper:
    """Returns what saves the table of a shard."""
    return TableKeeper(supply, form_of(spec, settings, shard))


def form_of(spec: ModelSpec, settings: BufferSettings, shard: int) -> Form:
    """Returns what a saved table must have in common with that of a shard.

    Raises:
      ValueError: The buffer has no table.
    """
    table = settings.table
    if table is None:
        raise ValueError("a buffer without a table saves none")
    columns = items_of(table).columns(row_dtypes(spec))
    return {
        "item": table.item.model_dump_json(),
        "columns": ", ".join(f"{name} {dtype}{list(shape)}" for name, (dtype, shape) in sorted(columns.items())),
        "capacity_items": str(table.capacity_items),
        "limiter": table.limiter.model_dump_json(),
        "shard": f"{shard} of {settings.shards}",
        "seed": str(settings.seed),
    }
