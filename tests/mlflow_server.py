"""A real MLflow server in a process of its own, and what arrives there."""

import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from app.stores.mlflow_store import tracking_uri
from train.tracking import Tracker

STEP_S = 0.005
"""A quick training step: what logging may take of it is 5 %."""


@dataclass
class Server:
    """A real MLflow server that can be started late, frozen and thawed."""

    root: Path
    port: int
    host: str = "127.0.0.1"
    runner: Sequence[str] = ()
    """What runs a command where the server is to be, if not here."""
    process: subprocess.Popen[bytes] | None = None

    @property
    def uri(self) -> str:
        return f"http://{self.host}:{self.port}"

    def start(self) -> None:
        command = [*self.runner, sys.executable, "-m", "mlflow", "server", "--workers", "1"]
        command += ["--host", self.host, "--port", str(self.port), "--allowed-hosts", "*"]
        command += ["--backend-store-uri", tracking_uri(None, self.root)]
        command += ["--artifacts-destination", str(self.root / "served")]
        environment = {**os.environ, "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false", "MLFLOW_DISABLE_TELEMETRY": "true"}
        with (self.root / "server.log").open("wb") as log:
            self.process = subprocess.Popen(
                command, env=environment, stdout=log, stderr=log, start_new_session=True, cwd=self.root
            )

    def signal(self, number: signal.Signals) -> None:
        assert self.process is not None
        os.killpg(self.process.pid, number)

    @contextmanager
    def frozen(self) -> Iterator[None]:
        self.signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.signal(signal.SIGCONT)


@contextmanager
def unstarted(root: Path, host: str = "127.0.0.1", runner: Sequence[str] = ()) -> Iterator[Server]:
    """Gives a server that is still to be started; it ends with the block.

    Args:
      root: Where it keeps its database and files.
      host: Its address.
      runner: See ``Server``.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        server = Server(root, probe.getsockname()[1], host, runner)
    try:
        yield server
    finally:
        if server.process is not None:
            server.signal(signal.SIGKILL)
            server.process.wait(timeout=10)


def stored(root: Path, run_id: str) -> list[tuple[str, int, float]]:
    with closing(sqlite3.connect(root / "mlflow.db")) as connection:
        query = "select key, step, value from metrics where run_uuid = ? order by step, key"
        return connection.execute(query, (run_id,)).fetchall()


def log(tracker: Tracker, steps: range) -> float:
    """Logs one value a step and returns the seconds that this took in all."""
    start_s = time.perf_counter()
    for step in steps:
        tracker.log(step, {"x": float(step)}, time_s=1000.0 + step)
    return time.perf_counter() - start_s
