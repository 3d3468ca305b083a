"""All players of a league, and the groups of them that matchmakers ask for."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from app.errors import LeagueError
from app.league.payoff import PlayerId
from app.league.players import UNTRAINED, FrozenPlayer, LearningPlayer, Player, Role

Ids = tuple[PlayerId, ...]


class Roster:
    """Players by id; groups are in the order in which their players came."""

    def __init__(
        self,
        learning: Iterable[LearningPlayer] = (),
        frozen: Iterable[FrozenPlayer] = (),
        away: Iterable[FrozenPlayer] = (),
    ) -> None:
        self._learning = {player.id: player for player in learning}
        self._frozen = {player.id: player for player in frozen}
        self._away = {player.id: player for player in away}
        self._groups: dict[object, Ids] = {}

    @property
    def learning(self) -> Mapping[PlayerId, LearningPlayer]:
        """All learning players."""
        return MappingProxyType(self._learning)

    @property
    def frozen(self) -> Mapping[PlayerId, FrozenPlayer]:
        """All frozen players."""
        return MappingProxyType(self._frozen)

    @property
    def away(self) -> Mapping[PlayerId, FrozenPlayer]:
        """Frozen players that are met no more; they may come back."""
        return MappingProxyType(self._away)

    @property
    def ids(self) -> Ids:
        """All players: the frozen ones, then those that learn."""
        return self._group("all", (*self._frozen, *self._learning))

    @property
    def frozen_ids(self) -> Ids:
        """All frozen players."""
        return self._group("frozen", self._frozen)

    @property
    def mains(self) -> Ids:
        """The learning main players who have begun: one with untrained weights is no opponent yet."""
        return self._group("mains", (p.id for p in self._learning.values() if p.role is Role.MAIN and _has_begun(p)))

    @property
    def begun(self) -> Ids:
        """All players but those that have not begun to learn."""
        learning = (p.id for p in self._learning.values() if _has_begun(p))
        return self._group("begun", (*self._frozen, *learning))

    def frozen_of(self, learner: PlayerId) -> Ids:
        """Returns what a learning player was."""
        return self._group(("of", learner), (p.id for p in self._frozen.values() if p.learner == learner))

    def frozen_of_role(self, role: Role) -> Ids:
        """Returns what the learning players of a role were."""
        return self._group(("role", role), (p.id for p in self._frozen.values() if p.role is role))

    def __contains__(self, player: object) -> bool:
        return player in self._learning or player in self._frozen

    def get(self, player: PlayerId) -> Player:
        """Returns a player.

        Raises:
          LeagueError: There is none of that id.
        """
        found = self._learning.get(player) or self._frozen.get(player) or self._away.get(player)
        if found is None:
            raise LeagueError(f"the league has no player {player!r}; there are {listed(self.ids)}")
        return found

    def learner(self, player: PlayerId) -> LearningPlayer:
        """Returns a learning player.

        Raises:
          LeagueError: There is none of that id, or it is frozen.
        """
        if player not in self._learning:
            what = "is frozen" if player in self._frozen else "is not in the league"
            raise LeagueError(f"player {player!r} {what}; those that learn are {listed(tuple(self._learning))}")
        return self._learning[player]

    def put(self, player: Player) -> None:
        """Adds a player, or gives a learning one its new state.

        Raises:
          LeagueError: It would change a frozen player, or the kind of a player.
        """
        known = player.id in (self._frozen if isinstance(player, LearningPlayer) else self)
        if known or self._away.get(player.id, player) != player:
            raise LeagueError(f"player {player.id!r} is in the league already, and frozen players do not change")
        if isinstance(player, FrozenPlayer):
            self._away.pop(player.id, None)
            self._frozen[player.id] = player
            self._groups.clear()
            return
        before = self._learning.get(player.id)
        if before is None or before.role is not player.role or _has_begun(before) != _has_begun(player):
            self._groups.clear()
        self._learning[player.id] = player

    def retire(self, player: PlayerId) -> None:
        """Takes a player out: a learning one for good, though what it was stays; a frozen one until it is put again.

        Raises:
          LeagueError: There is none of that id.
        """
        found = self.get(player)
        if isinstance(found, LearningPlayer):
            del self._learning[player]
        else:
            self._away[player] = found
            self._frozen.pop(player, None)
        self._groups.clear()

    def _group(self, key: object, ids: Iterable[PlayerId]) -> Ids:
        found = self._groups.get(key)
        if found is None:
            found = self._groups[key] = tuple(ids)
        return found


def _has_begun(player: LearningPlayer) -> bool:
    return player.weights != UNTRAINED


SHOWN = 20
"""Ids that a message lists."""


def listed(ids: Ids) -> str:
    """Returns ids for a message: the newest ones where there are many."""
    if not ids:
        return "none"
    shown = ", ".join(ids[-SHOWN:])
    return shown if len(ids) <= SHOWN else f"{shown} and {len(ids) - SHOWN} older ones"
