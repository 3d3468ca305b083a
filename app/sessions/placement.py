"""Where a new game is played."""

from collections.abc import Mapping
from typing import Final

ABOVE_MEAN: Final = 1.25
"""A replica with more games than this share of the mean sends new ones elsewhere."""
SLACK_GAMES: Final = 8
"""And that many games more: to forward each tick of a game costs more than so small a difference."""


def better_place(own_games: int, others: Mapping[str, int], *, full: bool) -> str | None:
    """Returns the replica that should take a new game instead of this one; None where it should stay.

    Args:
      own_games: Games played here.
      others: Games of the replicas that take new ones, by name.
      full: Whether this replica takes none.
    """
    if not others:
        return None
    best = min(others, key=lambda name: (others[name], name))
    mean = (own_games + sum(others.values())) / (len(others) + 1)
    crowded = own_games > ABOVE_MEAN * mean + SLACK_GAMES and others[best] < own_games
    return best if full or crowded else None
