"""Games that are played while a trainer learns, to see how good its newest weights are."""

import logging
import time
from collections.abc import Callable

from app.config.evaluating import EvaluationConfig, PlayedGames
from app.types import Version
from train.beside import Beside
from train.launch.cores import Evaluated, Evaluation

_log = logging.getLogger(__name__)


class PlayedEvaluations:
    """A thread that plays games every so many updates; one evaluation at a time, those due meanwhile are left out."""

    def __init__(
        self,
        settings: EvaluationConfig,
        games: PlayedGames,
        url: Callable[[], str],
        updates: Callable[[], int],
        pin: Callable[[], Version | None],
        unpin: Callable[[Version], None],
        log: Callable[[int, Version, Evaluated], None],
    ) -> None:
        """Keeps the parts; nothing is started.

        Args:
          settings: When it is time.
          games: What is played.
          url: Returns the address of the game port.
          updates: Returns the trainer's updates so far.
          pin: Returns the newest version and keeps its weights; None where there is none.
          unpin: Lets them go.
          log: Takes the updates, the version and what its games returned.
        """
        self._settings, self._games, self._url = settings, games, url
        self._updates, self._pin, self._unpin, self._log = updates, pin, unpin, log
        self._done = 0
        """Evaluations that were due so far."""
        self._thread = Beside("evaluations", self._look)
        self.start = self._thread.start
        """Begins to look."""
        self.close = self._thread.close
        """Ends, and with it the games that are being played."""

    def _look(self) -> None:
        updates = self._updates()
        due = updates // self._settings.every_updates
        if due > self._done:
            self._done = due
            self._evaluate(updates)

    def _evaluate(self, updates: int) -> None:
        version = self._pin()
        if version is None:
            return
        try:
            self._play(updates, version)
        finally:
            self._unpin(version)

    def _play(self, updates: int, version: Version) -> None:
        evaluation = Evaluation(self._games.simulator, self._url(), self._games.count, self._games.seed, version)
        try:
            end_s = time.monotonic() + self._games.timeout_s
            while (result := evaluation.result()) is None:
                if self._thread.wait():
                    return
                if time.monotonic() > end_s:
                    _log.warning("the games of version %s are not over in %g s", version, self._games.timeout_s)
                    return
            self._log(updates, version, result)
        finally:
            evaluation.close()
