"""Which replica a game was last found at."""

from collections import OrderedDict
from typing import Final

OWNERS_REMEMBERED: Final = 10_000
"""Games elsewhere whose owner is remembered, so that not every step asks the directory."""


class Owners:
    """Remembered owners of games, bounded in number; any of them may be wrong by now."""

    def __init__(self, most: int = OWNERS_REMEMBERED) -> None:
        """Knows no owner yet.

        Args:
          most: Games that are remembered; beyond it the one that was found first is forgotten.
        """
        self._most = most
        self._owners: OrderedDict[str, str] = OrderedDict()

    def get(self, game: str) -> str | None:
        """Returns the name of a game's owner; None where it is not known."""
        return self._owners.get(game)

    def remember(self, game: str, owner: str) -> None:
        """Notes where a game was found; one without a name is passed over, since it is not looked for."""
        if not game:
            return
        self._owners[game] = owner
        if len(self._owners) > self._most:
            self._owners.popitem(last=False)

    def forget(self, game: str) -> None:
        """Forgets where a game was found."""
        self._owners.pop(game, None)
