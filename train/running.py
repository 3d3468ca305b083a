"""What of an experiment runs in this process."""

import atexit
import time
from typing import TYPE_CHECKING, Final

from app.config.addresses import game_url
from app.config.root import ExperimentConfig
from app.errors import SparringError
from train.launch.interrupts import Interruptible
from train.launch.progress import Progress
from train.launch.pursuit import Pursuit
from train.launch.ring import LOOK_S, Ring

if TYPE_CHECKING:
    from train.session import TrainingSession

LIMIT_S: Final = 600.0
"""Longest wait for any one thing where the config has no launch section."""
SAVE_S: Final = 30.0
"""Longest wait for the last checkpoint of a trainer that is ended; a further Ctrl-C cuts it short."""
RETURN_GAMES: Final = 100
"""Newest training games that make the mean return where the config has no launch section."""


class Running:
    """A service with or without a trainer, and its game cores; they end with ``close`` or with the process."""

    def __init__(self, serve_port: int, stopper: Interruptible) -> None:
        """Keeps the names; nothing is started.

        Args:
          serve_port: Serve's own HTTP port.
          stopper: Knows whether the user has asked to stop.
        """
        self.session: "TrainingSession | None" = None
        """Newest trainer beside the service; None where that plays fixed weights, or nothing runs."""
        self.ports: dict[str, int] = {}
        """Game port of each actor; empty where nothing runs."""
        self._serve_port = serve_port
        self._stopper = stopper
        self._ring: Ring | None = None
        self._config: ExperimentConfig | None = None
        self._pursuit: Pursuit | None = None

    @property
    def url(self) -> str:
        """Returns the game port of the first actor.

        Raises:
          SparringError: Nothing runs.
        """
        if self._config is None or not self.ports:
            raise SparringError("no service runs")
        return game_url(self._config, self.ports)

    def train(self, config: ExperimentConfig, restore: str | None) -> "TrainingSession":
        """Starts a trainer, beside the service where that already has had one, and returns once games may be played."""
        if self._ring is not None and self.session is not None:
            self.session = self._ring.train_again(config, restore)
            return self.session
        self.close()
        self.session = self._start(config).start(restore)
        self.ports = self.session.trial.directory.ports()
        return self.session

    def serve(self, config: ExperimentConfig) -> None:
        """Serves fixed weights in place of what runs."""
        ring = self._ring
        self.session = None
        if ring is None:
            self.ports = self._start(config).serve(config)
        else:
            self._config = config
            self.ports = ring.serve_instead(config)

    def play(self, progress: Progress) -> Pursuit:
        """Returns game cores for the service that runs.

        Raises:
          ConfigError: The config has no launch section.
          SparringError: Nothing runs.
        """
        if self._ring is None or self._config is None:
            raise SparringError("no service runs")
        self._pursuit = Pursuit(self._config, self.url, self._ring, progress, self._stopper)
        return self._pursuit

    def follow(self, session: "TrainingSession", progress: Progress) -> None:
        """Waits until training ends, however long that takes: others play."""
        with progress.shown():
            while not session.join(0):
                progress.update(session.trial.metrics.progress(RETURN_GAMES))
                self._stopper.check()
                time.sleep(LOOK_S)

    def finish(self, session: "TrainingSession") -> None:
        """Ends a trainer with a checkpoint, and its metrics; the service goes on."""
        if self._ring is None:
            raise SparringError("no service runs")
        session.stop()
        self._ring.wait(lambda: session.join(0))
        session.close(succeeded=True)

    def close(self) -> None:
        """Ends all that runs; a trainer under way saves first."""
        atexit.unregister(self.close)
        ring, pursuit = self._ring, self._pursuit
        self._ring = self._pursuit = self._config = self.session = None
        self.ports = {}
        try:
            if pursuit is not None:
                pursuit.close()
        finally:
            if ring is not None:
                ring.close(SAVE_S)

    def _start(self, config: ExperimentConfig) -> Ring:
        limit_s = config.launch.limit_s if config.launch else LIMIT_S
        ring = Ring(config, self._serve_port, limit_s, self._stopper)
        ring.probe()
        self._ring, self._config = ring, config
        atexit.register(self.close)
        ring.start_ray()
        return ring
