"""What the league wants of a trainer: asked beside the updates, taken up between two of them."""

import logging
import time
from dataclasses import asdict, dataclass
from typing import Any, Final, cast

import ray
from ray.exceptions import RayError

from app.errors import TrainingError
from app.league.players import LearningPlayer
from app.stores.league_client import LeagueClient
from train.strategies.processes import Processes

ASK_TIMEOUT_S: Final = 30.0
"""Longest wait for the league when training begins, and when it takes up another player; else nobody waits for it."""
ASK_EVERY_S: Final = 0.1
"""Least time between two questions."""

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Period:
    """The learning period that a trainer is in."""

    player: str = ""
    """Empty before the first."""
    number: int = 0
    updates: int = 0
    """Of this period, since the trainer took the player over."""

    def is_of(self, wanted: LearningPlayer) -> bool:
        """Returns whether it is the period that the league wants."""
        return (self.player, self.number) == (wanted.id, wanted.period)

    def metrics(self) -> dict[str, float]:
        """Returns what the driver goes by; nothing before the first."""
        return {"league_period": float(self.number), "league_updates": float(self.updates)} if self.player else {}

    def as_dict(self) -> dict[str, Any]:
        """Returns what a checkpoint holds."""
        return asdict(self)


class Following:
    """One trainer's side; rank 0 asks, and all workers hear of it at the same update."""

    def __init__(self, league: LeagueClient, trainer: str, processes: Processes) -> None:
        """Keeps the parts; nobody is asked.

        Args:
          league: The trial's.
          trainer: Name of the trainer.
          processes: Its workers.
        """
        self._league = league
        self._trainer = trainer
        self._processes = processes
        self._asked: ray.ObjectRef[Any] | None = None
        self._next_s = 0.0
        """Earliest time of the next question."""

    def first(self) -> LearningPlayer:
        """Returns whom the trainer begins with, on all workers.

        Raises:
          TrainingError: The league does not answer in time.
        """
        return self._processes.share(self._first)

    def other_than(self, period: Period) -> LearningPlayer | None:
        """Returns whom the league wants in another period than the present one, on all workers; None where it does not.

        What it has answered by now is what counts: no update waits for it.
        """
        found: list[LearningPlayer] = []

        def changed() -> bool:
            found.extend(self._answered(0.0))
            return bool(found) and not period.is_of(found[0])

        return self._processes.share(lambda: found[0]) if self._processes.agree(changed) else None

    def taken_over(self, player: str) -> None:
        """Tells the league that a player's weights are published, so that games play the trainer's newest from now on.

        Raises:
          LeagueError: The league does not answer in time.
        """
        if self._processes.rank == 0:
            self._league.taken_over_now(player)

    def _first(self) -> LearningPlayer:
        found = self._answered(ASK_TIMEOUT_S)
        if not found:
            raise TrainingError(f"the league did not say within {ASK_TIMEOUT_S:g} s whom {self._trainer} trains")
        return found[0]

    def _answered(self, timeout_s: float) -> list[LearningPlayer]:
        """Returns the answer to the last question if it is there in time; where none is open, asks another first."""
        if self._asked is None:
            if time.monotonic() < self._next_s:
                return []
            self._next_s = time.monotonic() + ASK_EVERY_S
            self._asked = self._league.ask_at(self._trainer)
        if not ray.wait([self._asked], timeout=timeout_s)[0]:
            return []
        asked, self._asked = self._asked, None
        try:
            return [cast("LearningPlayer", ray.get(asked))]
        except RayError as error:  # Its process restarts.
            _log.warning("the league does not answer trainer %s, asking again: %s", self._trainer, error)
            return []
