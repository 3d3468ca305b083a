"""Recordings: games that are kept as files, to be learned from later."""

from typing import Annotated

from pydantic import Field, StringConstraints

from app.config.base import Config
from app.types import Purpose


class RecordConfig(Config):
    """Which games of an agent are recorded, and where; each trajectory is a whole episode."""

    every: int = Field(1, ge=1)
    """Every n-th game is recorded, with all its sessions; the game's name alone decides, so that it is the same on
    every replica and after a restart."""

    purposes: tuple[Purpose, ...] = Field(tuple(Purpose), min_length=1)
    """Games of these purposes."""

    folder: Annotated[str, StringConstraints(pattern=r"^[\w-]+$")] = "recordings"
    """Folder below that of the trial, on the node of the replica."""

    file_mb: float = Field(16.0, gt=0)
    """Size in memory, in MiB, at which a file is written."""

    file_s: float = Field(60.0, gt=0)
    """Longest time that an episode waits for others in its file."""

    max_mb: float | None = Field(None, gt=0)
    """Size of the folder in MiB above which the agent's oldest files are removed; null keeps all."""

    max_waiting: int = Field(256, ge=1)
    """Episodes that may wait for the disk; further ones are dropped and counted."""
