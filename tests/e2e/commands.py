"""Runs the product's commands as a user would, each with files, ports and processes of its own."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import httpx
import psutil

from deployments.port import free_port

T = TypeVar("T")

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
RL = ROOT / "configs" / "rl.yaml"
START_S = 240.0
"""Longest wait for what starts Ray, a service or training, on a busy machine."""
END_S = 90.0
"""Longest end in good order, of a service with its games."""
GONE_S = 30.0
"""Longest time from the end of a command to the end of all that it started."""


@dataclass
class Command:
    """One command under way; stdout and stderr go to files.

    Attributes:
      process: The command's own process.
      log: File that stderr and stdout go to.
      mark: Variable in the environment of all that the command starts, by which they are known.
    """

    process: "subprocess.Popen[bytes]"
    log: Path
    mark: str

    @property
    def output(self) -> str:
        return self.log.read_text(errors="replace")

    def until(self, text: str, timeout_s: float = START_S) -> None:
        """Returns once the command has said so."""

        def said() -> bool:
            assert self.process.poll() is None or text in self.output, f"it ended:\n{self.output}"
            return text in self.output

        wait_until(said, lambda: f"{text!r} in\n{self.output}", timeout_s)

    def end(self, number: signal.Signals, timeout_s: float) -> int:
        """Sends a signal as a terminal would to the command alone, and returns the exit code."""
        self.process.send_signal(number)
        return self.process.wait(timeout_s)

    def left_behind(self) -> list[psutil.Process]:
        """Returns the processes that the command has started and that still run."""
        return [p for p in psutil.process_iter() if _environment(p).get("SPARRING_E2E") == self.mark]


@dataclass(frozen=True)
class Place:
    """A user's machine: state root, Ray's folder, and ports that are free.

    Attributes:
      folder: Where all files lie.
      game_port: Port for game cores.
      serve_port: Serve's own port.
      started: Commands that were started here.
    """

    folder: Path
    game_port: int = field(default_factory=free_port)
    serve_port: int = field(default_factory=free_port)
    started: list[Command] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.game_port}"

    @property
    def env(self) -> dict[str, str]:
        """The environment of a user who has set nothing but the state root and Ray's folder."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("RAY_", "SPARRING_"))}
        own = {"HOME": str(self.folder), "SPARRING_HOME": str(self.folder / "sparring"), "RAY_TMPDIR": str(self.folder)}
        return kept | own | {"PATH": f"{BIN}:{os.environ['PATH']}", "NO_COLOR": "1", "COLUMNS": "200"}

    def start(self, *words: str, **variables: str) -> Command:
        """Starts a command in the background, in a process group of its own."""
        mark = f"{self.folder.name}-{time.monotonic_ns()}"
        log = self.folder / f"{mark}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                words,
                cwd=ROOT,
                env=self.env | variables | {"SPARRING_E2E": mark},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.started.append(Command(process, log, mark))
        return self.started[-1]

    def clear(self) -> None:
        """Kills what a failed test has left."""
        for command in self.started:
            for process in command.left_behind():
                with contextlib.suppress(psutil.Error):
                    process.kill()
            command.process.wait(GONE_S)

    def run(self, *words: str, timeout_s: float = START_S, **variables: str) -> "subprocess.CompletedProcess[str]":
        """Returns what a command did."""
        return subprocess.run(
            words,
            cwd=ROOT,
            env=self.env | variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )


@contextmanager
def new_place() -> Iterator[Place]:
    """Files and ports of one user, until the end of the block; a short path, since Ray puts sockets below it."""
    with tempfile.TemporaryDirectory(prefix="sparring-e2e-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        place = Place(Path(folder))
        try:
            yield place
        finally:
            place.clear()


def wait_until(claim: Callable[[], T], what: Callable[[], str], timeout_s: float) -> T:
    """Returns the first true value of a claim; a service that is away counts as false."""
    end_s = time.monotonic() + timeout_s
    while True:
        try:
            value = claim()
        except httpx.TransportError:
            value = None
        if value:
            return value
        assert time.monotonic() < end_s, f"not within {timeout_s:g} s: {what()}"
        time.sleep(0.1)


def listens(port: int) -> bool:
    with socket.socket() as attempt:
        return attempt.connect_ex(("127.0.0.1", port)) == 0


def _environment(process: psutil.Process) -> Mapping[str, str]:
    try:
        return process.environ()
    except psutil.Error:
        return {}
