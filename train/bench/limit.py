"""Runs the bare servers that ``ticks`` is compared with."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from train.bench.service import BenchError

END_TIMEOUT_S: Final = 5.0
"""Longest wait for a server to end with its standard input."""


@dataclass(frozen=True, slots=True)
class Bare:
    """A bare server that runs."""

    port: int
    pid: int


@contextmanager
def bare_server(kind: str) -> Iterator[Bare]:
    """Runs a bare echo server, ``http`` or ``frames``, until the end of the block.

    Raises:
      BenchError: It does not start.
    """
    command = [sys.executable, "-m", "train.bench.bare", kind]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
        try:
            line = process.stdout.readline() if process.stdout else ""
            if not line.strip().isdecimal():
                raise BenchError(f"the bare {kind} server said {line!r} instead of its port")
            yield Bare(int(line), process.pid)
        finally:
            if process.stdin:
                process.stdin.close()
            try:
                process.wait(END_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                process.kill()
