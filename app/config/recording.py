"""Recordings: games that are kept as files, to be looked at, learned from and played again."""

from typing import Annotated

from pydantic import Field, StringConstraints

from app.config.base import Config
from app.types import Purpose

FieldPath = Annotated[str, StringConstraints(pattern=r"^[^.\s]+(\.[^.\s]+)*$")]
"""Names joined by dots, such as ``player.name``."""


class PrivacyConfig(Config):
    """What never reaches the disk.

    A path names a field of what game cores send and get, and the column of the same name: ``observation.units`` is also
    ``observation/units``. Whatever lies below it goes with it; through a list the path goes to each of its items.
    ``session`` and ``game`` are the ids themselves. A body whose fields are not known, of an agent that reads bytes, is
    left out as a whole. A field of a protobuf message that holds no text is left out in place of a hash.
    """

    remove: tuple[FieldPath, ...] = ()
    """Fields that are left out."""

    hash: tuple[FieldPath, ...] = ()
    """Fields in whose place a keyed hash stands, equal where the values are equal; columns of numbers are left out."""

    key_env: str | None = None
    """Environment variable that holds the key of the hashes; null draws one at each start, so that hashes of different
    starts and replicas cannot be compared."""


class RecordConfig(Config):
    """Which games of an agent are recorded, and where; of each, all ticks."""

    every: int | None = Field(1, ge=1)
    """Every n-th game is recorded, with all its sessions; the game's name alone decides, so that it is the same on
    every replica and after a restart. null records none but those that an operator or an alarm asks for."""

    purposes: tuple[Purpose, ...] = Field(tuple(Purpose), min_length=1)
    """Games of these purposes."""

    payloads: bool = True
    """Whether what was sent and answered is recorded, beside observations, actions and rewards."""

    keep_ticks: int | None = Field(None, ge=1)
    """Last ticks of each game that are held in memory, so that an alarm or an operator can still have them written;
    null holds none: a game that is asked for late is recorded from there on."""

    keep_mb: float = Field(64.0, gt=0)
    """Most memory of one replica for ``keep_ticks``, in MiB; beyond it games hold fewer ticks."""

    part_ticks: int = Field(10_000, ge=1)
    """Ticks after which a long game is written as a part of its own, which bounds memory."""

    private: PrivacyConfig = PrivacyConfig()

    folder: Annotated[str, StringConstraints(pattern=r"^[\w-]+$")] = "recordings"
    """Folder below that of the trial, on the node of the replica."""

    file_mb: float = Field(16.0, gt=0)
    """Size in memory, in MiB, at which a file is written."""

    file_s: float = Field(60.0, gt=0)
    """Longest time that an episode waits for others in its file."""

    max_mb: float | None = Field(None, gt=0)
    """Size of the folder in MiB above which the agent's oldest files are removed; null keeps all."""

    max_days: float | None = Field(None, gt=0)
    """Age in days above which the agent's files are removed; null keeps all."""

    max_waiting: int = Field(256, ge=1)
    """Episodes that may wait for the disk; further ones are dropped and counted."""
