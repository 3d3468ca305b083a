"""Runs programs of several workers, which find each other over gloo."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from deployments.port import free_port

ROOT = Path(__file__).parents[3]
END_S = 120.0
"""Longest run of a worker on a busy machine."""


@contextmanager
def workers(module: str, count: int, *arguments: str) -> Iterator[list["subprocess.Popen[str]"]]:
    """Starts ``python -m MODULE RANK COUNT PORT ARGUMENTS`` for each rank, and ends them with the block."""
    port = str(free_port())
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore"}
    started = [
        subprocess.Popen(
            [sys.executable, "-m", module, str(rank), str(count), port, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env=environment,
        )
        for rank in range(count)
    ]
    try:
        yield started
    finally:
        for process in started:
            process.kill()
            process.communicate()


def outputs(module: str, count: int, *arguments: str) -> list[str]:
    """Returns what each worker prints; they must all end well."""
    with workers(module, count, *arguments) as started:
        found = [process.communicate(timeout=END_S) for process in started]
        assert [process.returncode for process in started] == [0] * count, found
        return [out for out, _ in found]
