"""The replay tables of a trainer: written beside its checkpoints, and back where training goes on from one."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import ray
from ray.exceptions import RayError, RayTaskError

from app.config.root import ExperimentConfig
from app.config.tables import TableSaving
from app.config.training import TrainerConfig
from app.stores.buffer import Buffer
from app.stores.table_folder import table_folder, table_of
from app.stores.trial import Trial
from train.checkpoint import LearnerState

WRITE_S: Final = 600.0
"""Longest wait for a table at the end of training."""

ENDED_S: Final = 1.0
"""Longest wait for the outcome of a save that has ended, or whose time is up."""

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class KeptTable:
    """The table of one buffer."""

    name: str
    buffer: Buffer
    saving: TableSaving | None
    """None where it is not saved."""
    checkpoints: int = 0
    """Written since it was saved last."""
    under_way: "ray.ObjectRef[Any] | None" = None
    """Its newest save, where that has not ended."""


class Tables:
    """Rank 0's side of saved tables. Training does not wait for a save, but for those at its end."""

    def __init__(self, tables: Sequence[KeptTable], folder: Path) -> None:
        """Keeps the tables.

        Args:
          tables: Of the inputs that have one.
          folder: Where the trainer's checkpoints lie.
        """
        self._tables, self._folder = tuple(tables), folder
        self._saved = self._missed = self._restored = self._refused = 0

    def restore(self, checkpoints: Path, state: LearnerState) -> None:
        """Brings the tables back that were saved with a checkpoint or before it; those in use are left alone.

        A table that cannot come back begins empty, which is told and counted.

        Args:
          checkpoints: Folder that the checkpoint lies in.
          state: The checkpoint.
        """
        for table in self._tables:
            found = None
            if table.saving is not None:
                found = table_of(table_folder(checkpoints, table.name), state.generation, state.updates)
            if found is not None:
                self._restore(table, found)
            elif not table.buffer.stats().held:
                why = "its save is null" if table.saving is None else f"none was saved until {state.updates} updates"
                _log.warning("the table of buffers.%s begins empty: %s", table.name, why)

    def save(self, checkpoint: Path, *, last: bool = False) -> None:
        """Has the tables written whose turn it is beside a checkpoint; one that is being written is left out.

        Args:
          checkpoint: That was just written.
          last: Whether there will be no other: all are written, after those that are being written.
        """
        for table in self._tables:
            if table.saving is None:
                continue
            table.checkpoints += 1
            if last:
                self._settle(table, WRITE_S)
            elif table.checkpoints < table.saving.every_checkpoints:
                continue
            elif not self._settle(table, 0.0):
                self._missed += 1
                continue
            table.checkpoints = 0
            table.under_way = table.buffer.save_tables(table_folder(self._folder, table.name) / checkpoint.name)

    def settle(self) -> None:
        """Waits until what is being written is on disk."""
        for table in self._tables:
            self._settle(table, WRITE_S)

    def gauges(self) -> dict[str, float]:
        """Returns what became of the tables since the start; nothing where none is saved."""
        if all(table.saving is None for table in self._tables):
            return {}
        return {
            "tables_saved": float(self._saved),
            "tables_not_saved": float(self._missed),
            "tables_refused": float(self._refused),
            "table_items_restored": float(self._restored),
        }

    def _restore(self, table: KeptTable, folder: Path) -> None:
        for restored in table.buffer.restore_tables(folder):
            if restored.refused is not None:
                self._refused += 1
                _log.warning("a shard of buffers.%s begins with an empty table: %s", table.name, restored.refused)
            elif restored.items:
                self._restored += restored.items
                _log.info("buffers.%s has %d items of %s again", table.name, restored.items, folder)

    def _settle(self, table: KeptTable, timeout_s: float) -> bool:
        """Returns whether no save of a table is under way, or comes to its end in time."""
        if table.under_way is None:
            return True
        ended, _ = ray.wait([table.under_way], timeout=timeout_s)
        if not ended and timeout_s < WRITE_S:
            return False
        under_way, table.under_way = table.under_way, None
        try:
            ray.get(under_way, timeout=ENDED_S)
            self._saved += 1
        except RayError as error:  # One that has not ended in time is one as well.
            self._missed += 1
            reason = error.cause if isinstance(error, RayTaskError) else error
            _log.error("the table of buffers.%s is not saved: %s", table.name, reason)
        return True


def open_tables(config: ExperimentConfig, trainer: TrainerConfig, trial: Trial, folder: Path) -> Tables:
    """Returns the tables of a trainer's inputs.

    Args:
      config: Config with the components of its mode.
      trainer: Which.
      trial: Stores of the running service.
      folder: Where the trainer's checkpoints lie.

    Raises:
      ServiceNotFoundError: The service has no such buffer.
    """
    found = []
    for name in dict.fromkeys(one.buffer for one in trainer.inputs if one.buffer is not None):
        table = config.buffers[name].table
        if table is not None:
            found.append(KeptTable(name, trial.buffer(name), table.save))
    return Tables(found, folder)
