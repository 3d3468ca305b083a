"""How long a soak waits, and how often its games are saved."""

from typing import Final

SNAPSHOT_EVERY: Final = 5
"""Ticks between two snapshots of a game."""
READY_S: Final = 400.0
"""Longest wait for the first update, on a busy machine."""
GAMES_S: Final = 100.0
"""Longest wait for an answer to each game after a fault."""
WELL_S: Final = 300.0
"""Longest wait for what was hit."""
HOLD_S: Final = 25.0
"""How long MLflow and the disk are in trouble: longer than MLflow waits for a lock."""
