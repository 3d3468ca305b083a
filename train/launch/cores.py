"""Game cores as processes of their own: they know nothing of the cluster but its game port."""

import json
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from typing import Final

from app.client.seats import seats_text
from app.config.launching import SimulatorConfig
from app.errors import SparringError
from app.types import Purpose, Version

OWN_CORE: Final = "core:"
"""What ``launch.simulator.env`` begins with that names the module of a game core of its own."""
STOP_TIMEOUT_S: Final = 3.0
"""Longest wait for game cores to close their games; then they are killed."""
EVALUATION_GAMES_AT_ONCE: Final = 25


class GameCoreError(SparringError):
    """A game core ended without having played its games."""


@dataclass(frozen=True, slots=True)
class Evaluated:
    """What evaluation games returned, as the game core saw it."""

    episodes: int
    mean_return: float
    min_return: float


class GameCores:
    """Processes that play for training until they are stopped."""

    def __init__(self, simulator: SimulatorConfig, url: str, seed: int) -> None:
        self._simulator = simulator
        self._url = url
        self._seed = seed
        self._starts = 0
        self._processes: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        """Starts to play, each process and each start with seeds of its own."""
        self._starts += 1
        for number in range(self._simulator.processes):
            seed = self._seed + 10_000 * (self._starts * self._simulator.processes + number)
            command = [*_command(self._simulator, self._url, Purpose.TRAIN, seed), f"--games={self._simulator.games}"]
            self._processes.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE))  # noqa: S603

    def check(self) -> None:
        """Does nothing while all play.

        Raises:
          GameCoreError: One has ended by itself.
        """
        for process in self._processes:
            code = process.poll()
            if code is not None:
                raise GameCoreError(f"a game core ended with exit code {code}: {_complaint(process)}")

    def stop(self) -> None:
        """Ends all: their open games are stopped as truncated."""
        for process in self._processes:
            process.send_signal(signal.SIGTERM)
        end_s = time.monotonic() + STOP_TIMEOUT_S
        for process in self._processes:
            _reap(process, max(0.0, end_s - time.monotonic()))
        self._processes.clear()


class Evaluation:
    """Evaluation games in a process of their own: greedy, at one version, each with its own seed."""

    def __init__(self, simulator: SimulatorConfig, url: str, games: int, seed: int, version: Version | None) -> None:
        pinned = [] if version is None else [f"--version={version}"]
        at_once = f"--games={min(games, EVALUATION_GAMES_AT_ONCE)}"
        command = [*_command(simulator, url, Purpose.EVALUATE, seed), at_once, f"--episodes={games}", *pinned]
        self._output = tempfile.TemporaryFile()  # noqa: SIM115  # Closed by ``close``.
        self._process = subprocess.Popen(command, stdout=self._output, stderr=subprocess.PIPE)  # noqa: S603

    def result(self) -> Evaluated | None:
        """Returns the result once all games are played, None before.

        Raises:
          GameCoreError: Not every game was played.
        """
        code = self._process.poll()
        if code is None:
            return None
        if code != 0:
            raise GameCoreError(f"the evaluation ended with exit code {code}: {_complaint(self._process)}")
        self._output.seek(0)
        result = json.loads(self._output.read().splitlines()[-1])
        return Evaluated(result["episodes"], result["mean_return"], result["min_return"])

    def checked_result(self) -> Evaluated:
        """Returns the result of games that are over.

        Raises:
          GameCoreError: They are not over, or not every one was played.
        """
        result = self.result()
        if result is None:
            raise GameCoreError("the evaluation games are still being played")
        return result

    def close(self) -> None:
        """Ends the games that still run."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        _reap(self._process, STOP_TIMEOUT_S)
        self._output.close()


def _command(simulator: SimulatorConfig, url: str, purpose: Purpose, seed: int) -> list[str]:
    asked = [f"--url={url}", f"--purpose={purpose}", f"--seed={seed}"]
    if simulator.env.startswith(OWN_CORE):
        return [sys.executable, "-m", simulator.env.removeprefix(OWN_CORE), *asked]
    played = [f"--env={simulator.env}", f"--transport={simulator.transport}", *_seated(simulator)]
    return [sys.executable, "-m", "app.client", *asked, *played]


def _seated(simulator: SimulatorConfig) -> list[str]:
    """Returns the options of games with several agents."""
    seated = [f"--seats={seats_text(seats)}" for seats in simulator.seats]
    scored = [f"--scored={agent}" for agent in simulator.scored]
    return seated + scored + ["--with-state"] * simulator.with_state


def _reap(process: subprocess.Popen[bytes], timeout_s: float) -> None:
    try:
        process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(STOP_TIMEOUT_S)
    if process.stderr is not None:
        process.stderr.close()


def _complaint(process: subprocess.Popen[bytes]) -> str:
    text = process.stderr.read().decode(errors="replace").strip() if process.stderr is not None else ""
    return text or "it said nothing"
