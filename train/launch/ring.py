"""A whole cluster of one command: Ray, the service and the trainer, started together and ended together."""

import logging
import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import psutil

from app.config.root import ExperimentConfig
from app.errors import SparringError
from app.home import state_root
from train.env import set_env
from train.launch.background import Background
from train.launch.stopping import Stopper

if TYPE_CHECKING:
    from deployments.build import Prepared
    from train.session import TrainingSession

APP: Final = "sparring"
"""Name of the Serve application."""
LOOK_S: Final = 0.1
"""Seconds between two looks at whatever is waited for."""
OBJECT_STORE_BYTES: Final = 512 * 2**20
"""Shared memory for weights and batches: much above what is ever under way."""
GONE_TIMEOUT_S: Final = 1.0
"""Longest wait for our processes to end; then they are killed."""


class LimitError(SparringError):
    """Something took longer than the config allows."""


class Ring:
    """Ray, Serve and a trainer that live as long as this process."""

    def __init__(
        self,
        config: ExperimentConfig,
        serve_port: int,
        limit_s: float,
        stopper: Stopper,
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
        self.dashboard = ""
        self._object_store_bytes = object_store_bytes
        self._config = config
        self._serve_port = serve_port
        self._limit_s = limit_s
        self._stopper = stopper
        self._session: TrainingSession | None = None
        self._serve: Background | None = None

    def start_ray(self) -> None:
        """Starts Ray; its processes inherit the environment that the learner needs."""
        set_env()
        # A thread that asks Ray for something after the end would else start a second cluster.
        os.environ["RAY_ENABLE_AUTO_CONNECT"] = "0"
        imports = Background(_import_parts, "imports")
        import ray  # noqa: PLC0415

        context = ray.init(
            address="local",
            include_dashboard=True,
            object_store_memory=self._object_store_bytes,
            logging_level=logging.ERROR,
            log_to_driver=False,
        )
        self._stopper.install()  # Ray has put a SIGTERM handler of its own in place of ours.
        self._stopper.check()
        self.dashboard = f"http://{context.dashboard_url}" if context.dashboard_url else "none"
        self.wait(imports.done)

    def start(self) -> "TrainingSession":
        """Starts service and trainer at the same time and returns once games can be learned from.

        Raises:
          SparringError: A part failed; the message is that part's own.
        """
        from deployments.build import prepare  # noqa: PLC0415
        from train.session import TrainingSession  # noqa: PLC0415

        serve = self._serve = Background(self._start_serve, "serve")
        prepared = prepare(self._config)
        self._stopper.check()
        home = state_root(self._config.run.project)
        session = self._session = TrainingSession(self._config, prepared.trial, home)
        session.start()
        self.wait(serve.done)
        deployed = Background(lambda: _deploy(prepared), "deploy")
        self.wait(lambda: deployed.done() and _live(session))
        return session

    def serve_instead(self, config: ExperimentConfig) -> None:
        """Ends the service and serves another config."""
        from ray import serve  # noqa: PLC0415

        from deployments.build import prepare  # noqa: PLC0415

        serve.delete(APP)
        _deploy(prepare(config))

    def serve(self, config: ExperimentConfig) -> dict[str, int]:
        """Serves a config without a trainer and returns the game port of each actor."""
        from deployments.build import prepare  # noqa: PLC0415

        self._start_serve()
        prepared = prepare(config)
        _deploy(prepared)
        return prepared.trial.directory.ports()

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

    def close(self) -> None:
        """Ends all processes that this one has started; a trainer under way saves first."""
        import ray  # noqa: PLC0415

        if self._session is not None:
            self._session.abandon()
        if self._serve is not None:  # Ray would end this process if a thread asked it for something after the end.
            self._serve.join(GONE_TIMEOUT_S)
        children = psutil.Process().children(recursive=True)
        if ray.is_initialized():
            ray.shutdown()
        _, alive = psutil.wait_procs(children, GONE_TIMEOUT_S)
        for process in alive:
            process.kill()
        psutil.wait_procs(alive, GONE_TIMEOUT_S)

    def _start_serve(self) -> None:
        from ray import serve  # noqa: PLC0415

        logging.getLogger("ray.serve").setLevel(logging.WARNING)
        serve.start(proxy_location="HeadOnly", http_options={"host": "127.0.0.1", "port": self._serve_port})


def _import_parts() -> None:
    """Imports what both halves need while Ray's processes start."""
    import torch  # noqa: F401, PLC0415


def _deploy(prepared: "Prepared") -> None:
    from ray import serve  # noqa: PLC0415

    from deployments.build import application  # noqa: PLC0415

    serve.run(application(prepared), name=APP)


def _live(session: "TrainingSession") -> bool:
    """Returns whether the trainer has published its first weights."""
    if session.join(0):
        raise SparringError("training ended before its first weights: it was told to do no update")
    return session.trial.metrics.progress(1).live
