"""The games that a replica holds, and those that it has handed on."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

from app.errors import DrainingError
from app.sessions.game import Game
from app.sessions.shared_tasks import SharedTasks

MOVED_REMEMBERED: Final = 100_000
"""Games handed on whose new owner is remembered: more than a replica can hold."""

Claim = Callable[[str], Awaitable[int]]


class Games:
    """A game is held from its first start until its last session is over and forgotten."""

    def __init__(self, claim: Claim | None) -> None:
        """Makes an empty set of games.

        Args:
          claim: Makes this replica the owner of a game and returns the claim's epoch; None where nobody is asked.
        """
        self._claim = claim
        self._held: dict[str, Game] = {}
        self._claiming: SharedTasks[int] = SharedTasks()
        self._moved: OrderedDict[str, str] = OrderedDict()
        self.playing = 0
        """Games with an open session."""
        self._ended: list[tuple[str, int]] = []

    def __contains__(self, game: str) -> bool:
        return game in self._held

    def __len__(self) -> int:
        return len(self._held)

    def get(self, game: str) -> Game | None:
        """Returns a game that is held here."""
        return self._held.get(game)

    def all(self) -> list[Game]:
        """Returns the games held here, those included of which only last replies are left."""
        return list(self._held.values())

    def take_ended(self) -> list[tuple[str, int]]:
        """Returns games and epochs that are over and still claimed, each once."""
        ended, self._ended = self._ended, []
        return [(game, epoch) for game, epoch in ended if game not in self._held]

    async def held(self, game_id: str, admit: Callable[[str], None]) -> Game:
        """Returns a game, claimed if it was not held yet.

        Args:
          game_id: The game.
          admit: Raises a ``StepError`` where no new game may be played.

        Raises:
          StepError: The game may not be held here.
        """
        game = self._held.get(game_id)
        if game is None or not game.sessions:
            admit(game_id)
        if game is None:
            epoch = 0 if self._claim is None else await self._claiming.result(game_id, partial(self._claim, game_id))
            game = self._held.setdefault(game_id, Game(game_id, epoch))
        if game.frozen:
            raise DrainingError(f"game {game_id!r} is being handed to another replica")
        return game

    def enter(self, game: Game) -> None:
        """Takes in a game that goes on here."""
        self._held[game.id] = game
        self._moved.pop(game.id, None)

    def hand_on(self, game: Game, owner: str) -> None:
        """Forgets a game that goes on elsewhere, and remembers where."""
        self.forget(game)
        self._moved[game.id] = owner
        if len(self._moved) > MOVED_REMEMBERED:
            self._moved.popitem(last=False)

    def forget(self, game: Game) -> None:
        """Forgets a game without a word to anybody."""
        self._held.pop(game.id, None)

    @property
    def moved(self) -> int:
        """Returns how many games were handed on from here and are remembered."""
        return len(self._moved)

    def moved_to(self, game: str) -> str | None:
        """Returns the replica that a game was handed to; None where it was not handed on from here."""
        return self._moved.get(game)

    def keep_reply(self, game: str) -> None:
        """Counts one more last reply that is kept of a game."""
        if (held := self._held.get(game)) is not None:
            held.replies_kept += 1

    def lose_reply(self, game: str) -> None:
        """Counts one last reply less."""
        if (held := self._held.get(game)) is not None:
            held.replies_kept -= 1
            self.close_if_over(held)

    def close_if_over(self, game: Game) -> None:
        """Lets a game go of which nothing is left."""
        if game.sessions or game.replies_kept or self._held.get(game.id) is not game:
            return
        del self._held[game.id]
        if self._claim is not None:
            self._ended.append((game.id, game.epoch))
