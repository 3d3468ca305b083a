"""Runs the load generator."""

import json
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final, Self

from app.errors import SparringError


class Mode(StrEnum):
    """How steps travel."""

    HTTP = "http"
    """POST /step."""
    STEPS = "steps"
    """JSON to POST /steps, a step of each session in one request."""
    BRAY = "bray"
    """Bray's TCP framing."""
    NATIVE = "native"
    """Native frames of one step."""
    BATCH = "batch"
    """Native frames of a step of each session."""


SLACK_S: Final = 60.0
"""Seconds that starts, stops and the last replies may take beside warm-up and window."""


class LoadError(SparringError):
    """The load generator has no result."""


@dataclass(frozen=True, slots=True)
class Load:
    """What one run of the load generator does."""

    mode: Mode
    port: int
    connections: int = 8
    sessions: int = 1
    """On each connection: in turn, or all in one request where the mode sends batches."""
    body_bytes: int = 64
    seconds: float = 1.0
    warmup_s: float = 0.3
    pids: tuple[int, ...] = ()
    """Processes whose CPU time is measured."""
    prefix: str = "load"
    """Of the session ids, ``<prefix>-<connection>-<session><suffix>``."""
    suffix: str = ""
    """Of the session ids, such as ``-agent-NAME``."""
    body: str = ""
    """Of a tick, JSON; empty: ``body_bytes`` bytes that must come back."""
    expect: str = ""
    """What each answer to ``body`` begins with."""
    only_pid: int = 0
    """Replica that all connections must reach; 0: any."""
    attach: bool = False
    """Whether the sessions are open already, and stay so."""
    seq: bool = False
    """Whether steps carry a sequence number."""

    def words(self) -> list[str]:
        """Returns the load generator's options."""
        named = {
            "--mode": self.mode,
            "--port": self.port,
            "--connections": self.connections,
            "--sessions": self.sessions,
            "--body-bytes": self.body_bytes,
            "--seconds": self.seconds,
            "--warmup": self.warmup_s,
            "--prefix": self.prefix,
            "--suffix": self.suffix,
            "--body": self.body,
            "--expect": self.expect,
            "--only-pid": self.only_pid,
            "--attach": int(self.attach),
            "--seq": int(self.seq),
        }
        words = [str(word) for item in named.items() for word in item]
        return words + [word for pid in self.pids for word in ("--pid", str(pid))]


@dataclass(frozen=True, slots=True)
class Window:
    """What one run came to."""

    ticks: int
    seconds: float
    p50_ms: float
    p99_ms: float
    p999_ms: float
    max_ms: float
    errors: int
    first_error: str
    generator_share: float
    """Of one core, that the load generator took."""
    watched_cpu_s: tuple[float, ...]
    """CPU seconds of each watched process."""

    @classmethod
    def parse(cls, line: str) -> Self:
        """Returns what the load generator printed.

        Raises:
          LoadError: It is not a result.
        """
        try:
            found = json.loads(line)
            return cls(
                ticks=int(found["ticks"]),
                seconds=float(found["seconds"]),
                p50_ms=float(found["p50_ms"]),
                p99_ms=float(found["p99_ms"]),
                p999_ms=float(found["p999_ms"]),
                max_ms=float(found["max_ms"]),
                errors=int(found["errors"]),
                first_error=str(found["first_error"]),
                generator_share=float(found["cpu_share"]),
                watched_cpu_s=tuple(float(cpu) for cpu in found["watched_cpu_s"]),
            )
        except (ValueError, KeyError, TypeError) as error:
            raise LoadError(f"the load generator printed {line[:200]!r}, which is no result: {error!r}") from error

    @property
    def ticks_per_s(self) -> float:
        """Returns the right answers a second."""
        return self.ticks / self.seconds if self.seconds else 0.0

    @property
    def cpu_us(self) -> float:
        """Returns the CPU microseconds of all watched processes a tick; 0 where there was no tick."""
        return 1e6 * sum(self.watched_cpu_s) / self.ticks if self.ticks else 0.0


Run = Callable[[Load], Window]
"""Runs the load generator once."""


def run_load(program: Path, load: Load) -> Window:
    """Returns what one run came to.

    Raises:
      LoadError: It has no result: the service cannot be reached, say.
    """
    done = subprocess.run(  # noqa: S603  # Our own program.
        [str(program), *load.words()],
        capture_output=True,
        text=True,
        timeout=load.seconds + load.warmup_s + SLACK_S,
        check=False,
    )
    if done.returncode != 0:
        raise LoadError(f"the load generator ended with exit code {done.returncode}: {done.stderr.strip()}")
    return Window.parse(done.stdout)
