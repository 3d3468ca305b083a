"""Buffers: where rows wait for the trainer."""

from typing import Literal

from pydantic import Field, model_validator

from app.config.base import Process
from app.config.tables import TableConfig


class BufferConfig(Process):
    """Where rows wait for the trainer: first in, first out, each row once; or a replay table."""

    enable: Literal["train", "deploy", "both"] = "train"
    """Mode in which this component exists."""

    table: TableConfig | None = None
    """Replay table that rows are sampled from again and again; null hands out each row once, in order of arrival."""

    shards: int = Field(1, ge=1, le=256)
    """Processes that hold the rows; each fills batches by itself, so rows wait longer in more of them."""

    density: float = Field(1.0, gt=0, le=1)
    """Share of the shards that one actor replica sends to, at least one: bounds the links between them."""

    when_full: Literal["drop_oldest", "drop_newest", "refuse"] = "drop_oldest"
    """What a shard that is full does with a push: the oldest rows leave, the push is dropped, or it is refused and the
    actor replica keeps it and tries again; all of them are counted."""

    capacity_rows: int | None = Field(None, gt=0)
    """Rows that one shard keeps, without a table; null keeps one batch a worker and two pushes."""

    rollouts: Literal["go_on", "wait"] = "go_on"
    """What games do while the trainer learns. ``go_on``: they play on, and rows are a few versions old. ``wait``: with
    enough rows for one batch of each worker they wait for the weights that learned from them, so that a batch holds
    rows of one version; a tick then takes as long as an update."""

    credits_batches: int = Field(2, ge=1)
    """Batches that may be under way to one worker: 1 is the freshest, 2 hide the stream's delay."""

    max_policy_lag: int = Field(8, ge=0)
    """Largest age of a row at consumption, in published versions; older rows are masked and counted. A table has
    ``max_age_versions`` instead."""

    heartbeat_s: float = Field(5.0, gt=0, le=15)
    """Seconds without a batch after which the workers get an empty one, so that none waits for ever."""

    ticket_mb: float = Field(0.125, gt=0)
    """Size in MiB from which on a batch travels as a reference beside the stream instead of through it."""

    @property
    def links(self) -> int:
        """Returns how many shards one actor replica sends to."""
        return max(1, round(self.density * self.shards))

    @model_validator(mode="after")
    def _waits_for_whole_batches(self) -> "BufferConfig":
        if self.rollouts == "wait" and (self.table is not None or self.shards > 1 or self.capacity_rows is not None):
            raise ValueError(
                f"rollouts is wait with {self.shards} shards, capacity_rows {self.capacity_rows} and "
                f"{'a table' if self.table else 'no table'}; allowed is one shard without capacity_rows or table"
            )
        return self

    @model_validator(mode="after")
    def _one_capacity(self) -> "BufferConfig":
        if self.table is None:
            return self
        if self.capacity_rows is not None:
            raise ValueError(
                f"capacity_rows is {self.capacity_rows}, which is of a buffer without a table; "
                "allowed beside a table is table.capacity_items"
            )
        if self.table.capacity_items < self.shards:
            raise ValueError(
                f"table.capacity_items is {self.table.capacity_items} over {self.shards} shards; "
                "allowed is at least one item a shard"
            )
        return self
