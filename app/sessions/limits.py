"""Bounds of what one replica plays."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one table."""

    max_games: int
    idle_timeout_s: float
    step_timeout_s: float
    board_timeout_s: float = 5.0
    snapshot_every_ticks: int | None = None
    """Ticks of a session that may be lost with the replica; None keeps no snapshots."""
