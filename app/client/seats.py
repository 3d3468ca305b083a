"""Who of the service plays for whom in games of several agents."""

from collections.abc import Mapping
from typing import Final

Seats = Mapping[str, str]
"""Which agent of the service plays for which agent of the game, ``*`` being those that are not named; without it they
play for themselves. One may play for several."""
EVERYBODY: Final = "*"


def read_seats(text: str) -> dict[str, str]:
    """Returns who plays for whom, of ``agent=player`` pairs with commas between them; nothing: all for themselves.

    Raises:
      ValueError: It is not written so.
    """
    pairs = [pair.partition("=") for pair in text.split(",")] if text else []
    if any(not (agent and equals and player) for agent, equals, player in pairs):
        raise ValueError(f"seats are {text!r}; allowed is agent=player with commas between, as player_1=random")
    return {agent: player for agent, _, player in pairs}


def seats_text(seats: Seats) -> str:
    """Returns what ``read_seats`` reads."""
    return ",".join(f"{agent}={player}" for agent, player in seats.items())
