"""Freezes the players of a league when it is time, and turns trainers to the next of theirs, beside training."""

import logging
from collections.abc import Callable, Mapping
from typing import Protocol

from app.league.periods import Due, Freeze
from app.league.players import LearningPlayer, Weights
from app.models.lineage import Clone
from app.types import Version
from train.beside import Beside

_log = logging.getLogger(__name__)


class League(Protocol):
    """The league, as a driver asks it; see ``LeagueClient``."""

    def at_now(self, trainer: str) -> LearningPlayer:
        """Returns the player that a trainer has."""

    def due_now(self, player: str, updates: int) -> Due:
        """Returns what is to be done with it after so many updates."""

    def freeze_now(self, player: str, period: int, weights: Weights, anew: bool | None) -> Freeze:
        """Freezes it at the end of a period; ``anew``: it begins anew, None leaves that to chance."""

    def turn_now(self, trainer: str, leaving: str, weights: Weights, updates: int) -> LearningPlayer:
        """Turns a trainer to its next player."""


class Trained(Protocol):
    """A trainer under way."""

    def newest(self) -> Mapping[str, float]:
        """Returns the metrics of its newest update; empty before the first."""

    def pin(self) -> Version | None:
        """Returns its newest published version and keeps the weights; None where nothing was published."""

    def unpin(self, version: Version) -> None:
        """Lets them go."""

    @property
    def clone(self) -> Callable[[Version], Clone]:
        """Makes a frozen clone of a version."""


class LeagueKeeper:
    """A thread that looks at each trainer again and again."""

    def __init__(self, league: League, trainers: Mapping[str, Trained]) -> None:
        """Keeps the parts; nothing is started.

        Args:
          league: The trial's.
          trainers: Those that have players in it, by name.
        """
        self._league = league
        self._trainers = trainers
        self._thread = Beside("the league", self._look_at_all)
        self.start = self._thread.start
        """Begins to look."""
        self.close = self._thread.close
        """Ends; a freeze that is under way is waited for."""

    def look(self, trainer: str) -> None:
        """Does what is due with a trainer's player now.

        Raises:
          SparringError: The league does not answer, or the weights cannot be set apart.
        """
        trained = self._trainers[trainer]
        player, measured = self._league.at_now(trainer), trained.newest()
        if measured.get("league_period") != player.period or player.weights is not None:
            return  # The trainer has not taken over what the league wants.
        updates = int(measured["league_updates"])
        due = self._league.due_now(player.id, updates)
        if not (due.freeze or due.turn):
            return
        weights = _set_apart(trained)
        if weights is None:
            return
        if due.freeze:
            came = self._league.freeze_now(player.id, player.period, weights, True if due.anew else None)
            _log.info("%s is frozen as %s after %d updates: %s", player.id, came.frozen.id, updates, weights.reference)
            weights, updates = came.learning.weights or weights, 0
        if due.turn:
            entering = self._league.turn_now(trainer, player.id, weights, updates)
            _log.info("trainer %s turns from %s to %s", trainer, player.id, entering.id)

    def _look_at_all(self) -> None:
        for trainer in self._trainers:
            self.look(trainer)


def _set_apart(trained: Trained) -> Weights | None:
    """Returns the newest weights of a trainer as a frozen clone; None where it has published none."""
    version = trained.pin()
    if version is None:
        return None
    try:
        clone = trained.clone(version)
    finally:
        trained.unpin(version)
    return Weights(f"clones/{clone.id}", clone.hash)
