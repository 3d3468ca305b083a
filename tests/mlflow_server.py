"""A real MLflow server in a process of its own."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from app.stores.mlflow_store import tracking_uri
from deployments.port import free_port


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
    server = Server(root, free_port(), host, runner)
    try:
        yield server
    finally:
        if server.process is not None:
            server.signal(signal.SIGKILL)
            server.process.wait(timeout=10)
