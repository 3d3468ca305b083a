"""A whole cluster of one command: Ray, the service and the trainer, started together and ended together."""

import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from app.config.root import ExperimentConfig
from app.errors import SparringError
from app.home import state_root
from deployments.port import probe
from train.env import set_env
from train.launch.background import Background
from train.launch.cluster import OBJECT_STORE_BYTES, Cluster
from train.launch.interrupts import Interruptible

if TYPE_CHECKING:
    from app.stores.trial import Trial
    from deployments.build import Prepared
    from train.session import TrainingSession

APP: Final = "sparring"
"""Name of the Serve application."""
LOOK_S: Final = 0.1
"""Seconds between two looks at whatever is waited for."""
SERVE_TIMEOUT_S: Final = 1.0
"""Longest wait for a start of Serve that is cut short."""


class LimitError(SparringError):
    """Something took longer than the config allows."""


class Ring:
    """Ray, Serve and a trainer that live as long as this process."""

    def __init__(
        self,
        config: ExperimentConfig,
        serve_port: int,
        limit_s: float,
        stopper: Interruptible,
        object_store_bytes: int = OBJECT_STORE_BYTES,
    ) -> None:
        """Keeps the names; nothing is imported or started.

        Args:
          config: Config with the components of its mode.
          serve_port: Serve's own HTTP port.
          limit_s: Longest wait for any one thing.
          stopper: Knows whether the user has asked to stop.
          object_store_bytes: Shared memory of Ray's object store.
        """
        self._cluster = Cluster(object_store_bytes)
        self._config = config
        self._serve_port = serve_port
        self._limit_s = limit_s
        self._stopper = stopper
        self._session: TrainingSession | None = None
        self._serve: Background | None = None

    @property
    def dashboard(self) -> str:
        """Returns the address of Ray's dashboard."""
        return self._cluster.dashboard

    def probe(self) -> None:
        """Does nothing where the ports of service and games are free.

        Raises:
          PortInUseError: One is taken.
        """
        for actor in self._config.actors.values():
            probe(actor.host, actor.port)
        remedy = "stop what listens there, or give Ray Serve another: --serve-port N, in Python serve_port=N"
        probe("127.0.0.1", self._serve_port, remedy)

    def start_ray(self) -> None:
        """Starts Ray.

        Raises:
          ClusterError: This process already uses Ray.
        """
        set_env()  # Torch reads some of it when it is imported.
        imports = Background(_import_parts, "imports")
        self._cluster.start()
        self._stopper.install()  # Ray has put a SIGTERM handler of its own in place of ours.
        self._stopper.check()
        self.wait(imports.done)

    def start(self, restore: str | None = None) -> "TrainingSession":
        """Starts service and trainer at the same time and returns once games can be learned from.

        Args:
          restore: What the trainer starts from; None does as the config says.

        Raises:
          SparringError: A part failed; the message is that part's own.
        """
        from deployments.build import prepare  # noqa: PLC0415

        serve = self._serve = Background(self._start_serve, "serve")
        try:
            prepared = prepare(self._config)
            self._stopper.check()
            session = self._start_trainer(self._config, prepared.trial, restore)
        except SparringError:
            self.wait(serve.ended)  # Ray, closed under it, would end this process before the error is told.
            raise
        self.wait(serve.done)
        deployed = Background(lambda: _deploy(prepared), "deploy")
        self.wait(lambda: deployed.done() and _live(session))
        return session

    def train_again(self, config: ExperimentConfig, restore: str | None = None) -> "TrainingSession":
        """Starts another trainer beside the service that runs, once the one before has ended.

        Args:
          config: That of the service, but for its trainers.
          restore: What the trainer starts from; None does as the config says.

        Raises:
          SparringError: The trainer failed; the message is its own.
        """
        if self._session is None:
            raise SparringError("no trainer was started here")
        session = self._start_trainer(config, self._session.trial, restore)
        self.wait(lambda: _live(session))
        return session

    def serve_instead(self, config: ExperimentConfig) -> dict[str, int]:
        """Ends the service, serves another config and returns the game port of each actor."""
        from ray import serve  # noqa: PLC0415

        serve.delete(APP)
        return _serve_alone(config)

    def serve(self, config: ExperimentConfig) -> dict[str, int]:
        """Serves a config without a trainer and returns the game port of each actor."""
        self._start_serve()
        return _serve_alone(config)

    def wait(self, done: Callable[[], bool]) -> None:
        """Waits until something is done.

        Raises:
          LimitError: It takes too long.
          InterruptedLaunchError: The user has asked to stop.
        """
        end_s = time.monotonic() + self._limit_s
        while not done():
            self._stopper.check()
            if time.monotonic() > end_s:
                raise LimitError(f"gave up after {self._limit_s:g} s of waiting")
            time.sleep(LOOK_S)

    def close(self, save_s: float | None = None) -> None:
        """Ends all processes of the cluster; a trainer under way saves first.

        Args:
          save_s: Longest wait for that; None is in a hurry.
        """
        try:
            if self._session is not None:
                self._session.abandon(*([] if save_s is None else [save_s]))
            if self._serve is not None:  # Ray would end this process if a thread asked it for something after the end.
                self._serve.join(SERVE_TIMEOUT_S)
        finally:
            self._cluster.close()

    def _start_trainer(self, config: ExperimentConfig, trial: "Trial", restore: str | None) -> "TrainingSession":
        from train.session import TrainingSession  # noqa: PLC0415

        home = state_root(config.run.project)
        session = self._session = TrainingSession(config, trial, home, restore=restore)
        session.start()
        return session

    def _start_serve(self) -> None:
        from ray import serve  # noqa: PLC0415
        from ray.exceptions import RayError  # noqa: PLC0415

        logging.getLogger("ray.serve").setLevel(logging.WARNING)
        try:
            serve.start(proxy_location="HeadOnly", http_options={"host": "127.0.0.1", "port": self._serve_port})
        except (RayError, TimeoutError) as error:  # Serve gives its proxy a minute; a busy machine may need more.
            raise SparringError(
                f"Ray Serve could not start its proxy on port {self._serve_port}; start again, and with less else on "
                f"this machine: {error}"
            ) from error


def _import_parts() -> None:
    """Imports what both halves need while Ray's processes start."""
    import torch  # noqa: F401, PLC0415


def _serve_alone(config: ExperimentConfig) -> dict[str, int]:
    from deployments.build import prepare  # noqa: PLC0415

    prepared = prepare(config)
    _deploy(prepared)
    return prepared.trial.directory.ports()


def _deploy(prepared: "Prepared") -> None:
    from ray import serve  # noqa: PLC0415

    from deployments.build import application  # noqa: PLC0415

    serve.run(application(prepared), name=APP)


def _live(session: "TrainingSession") -> bool:
    """Returns whether the trainer has published its first weights."""
    if session.join(0):
        raise SparringError("training ended before its first weights: it was told to do no update")
    return session.trial.metrics.progress(1).live
