"""Buffers: where rows wait for the trainer."""

from typing import Literal

from pydantic import Field

from app.config.base import Process


class BufferConfig(Process):
    """Where trajectories wait for the trainer: first in, first out, each row once."""

    enable: Literal["train", "deploy", "both"] = "train"
    """Mode in which this component exists."""

    capacity_rows: int | None = Field(None, gt=0)
    """Rows kept before the oldest trajectory is dropped and counted; null keeps one batch a worker and one push."""

    credits_batches: int = Field(2, ge=1)
    """Batches that may be under way to one worker: 1 is the freshest, 2 hide the stream's delay."""

    max_policy_lag: int = Field(8, ge=0)
    """Largest age of a row at consumption, in published versions; older rows are masked and counted."""

    heartbeat_s: float = Field(5.0, gt=0, le=15)
    """Seconds without a batch after which the workers get an empty one, so that none waits for ever."""
