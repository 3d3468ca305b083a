"""Checkpoints: when a trainer saves, and what stays."""

from typing import Literal

from pydantic import Field, model_validator

from app.config.base import Config


class BestCheckpoints(Config):
    """The checkpoints that did best."""

    count: int = Field(1, ge=1)
    """How many."""

    metric: str = "mean_return"
    """What they are compared by: ``mean_return``, or a metric of the updates; a checkpoint without it is no
    candidate."""

    games: int = Field(100, ge=1)
    """Newest finished training games that make up ``mean_return``."""

    order: Literal["largest", "smallest"] = "largest"
    """Which end is the better one."""


class KeepCheckpoints(Config):
    """The checkpoints that stay when another is written: those that any of these rules keeps."""

    last: int = Field(3, ge=1)
    """Newest ones."""

    every_nth: int | None = Field(None, ge=1)
    """Each n-th that is written stays for good; null keeps none for good."""

    best: BestCheckpoints | None = None
    """Those that did best; null keeps none for that."""


class CheckpointsConfig(Config):
    """When a trainer saves, what stays, and what a start makes of what is there."""

    every_updates: int | None = Field(None, ge=1)
    """Updates between checkpoints; null goes by time alone."""

    every_s: float | None = Field(60.0, gt=0)
    """Seconds between checkpoints; null goes by updates alone. With both, whichever comes first."""

    keep: KeepCheckpoints = KeepCheckpoints()

    on_existing: Literal["resume", "reuse", "overwrite", "refuse"] = "overwrite"
    """What a start without ``--restore`` makes of checkpoints that are there. ``resume``: goes on from the newest.
    ``reuse``: keeps them and starts with the newest one's weights, but a new optimizer. ``overwrite``: moves them aside
    and begins anew. ``refuse``: stops."""

    @model_validator(mode="after")
    def _saves(self) -> "CheckpointsConfig":
        if self.every_updates is None and self.every_s is None:
            raise ValueError("every_updates and every_s are both null; allowed is a number for one of them or for both")
        return self
