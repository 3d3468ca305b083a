"""Several learning players at one trainer: each has it for a slice of updates, in turn."""

from collections.abc import Sequence

from app.league.payoff import PlayerId


def next_turn(players: Sequence[PlayerId], current: PlayerId) -> PlayerId:
    """Returns whose turn follows; the same one where a trainer has no other.

    Raises:
      ValueError: The current one is not among the players.
    """
    if current not in players:
        raise ValueError(f"the turn is at one of {', '.join(players) or 'nobody'}, got {current!r}")
    return players[(players.index(current) + 1) % len(players)]
