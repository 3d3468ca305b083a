"""Debian's Prometheus: queries of recorded series, and promtool."""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

import httpx
import pytest

from deployments.port import free_port

START_S: Final = 30.0
"""Longest wait for Prometheus."""
needs_promtool = pytest.mark.skipif(
    shutil.which("promtool") is None and not os.environ.get("CI"),
    reason="promtool is missing: apt-get install prometheus",
)
"""Where it is missing the test is left out, but in CI it fails."""


def promtool(*words: str) -> str:
    """Returns what promtool says; it must be satisfied."""
    done = subprocess.run([_found("promtool"), *words], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, f"promtool {' '.join(words)}: {done.stdout}{done.stderr}"
    return done.stdout


class Prometheus(NamedTuple):
    """One that runs."""

    url: str

    def range(self, expr: str, start_s: float, end_s: float, step_s: float) -> list[dict[str, Any]]:
        """Returns the series of an expression over time: ``metric`` and ``values``."""
        fields = {"query": expr, "start": start_s, "end": end_s, "step": step_s}
        answer = httpx.post(f"{self.url}/api/v1/query_range", data=fields, timeout=30).json()
        assert answer["status"] == "success", answer
        return cast("list[dict[str, Any]]", answer["data"]["result"])


@contextmanager
def prometheus(config: Path, folder: Path) -> Iterator[Prometheus]:
    """Runs Prometheus on a folder of series for as long as the block."""
    address = f"127.0.0.1:{free_port()}"
    words = [f"--config.file={config}", f"--storage.tsdb.path={folder}", f"--web.listen-address={address}"]
    with (folder.parent / "prometheus.log").open("wb") as log:
        process = subprocess.Popen(
            [_found("prometheus"), *words, "--storage.tsdb.retention.time=100y"], stdout=log, stderr=log
        )
    try:
        _until_ready(f"http://{address}", process)
        yield Prometheus(f"http://{address}")
    finally:
        process.terminate()
        process.wait(timeout=20)


@contextmanager
def recorded(lines: Sequence[str], folder: Path) -> Iterator[Prometheus]:
    """Runs Prometheus on samples in OpenMetrics' format."""
    (folder / "samples.txt").write_text("\n".join([*lines, "# EOF", ""]))
    promtool("tsdb", "create-blocks-from", "openmetrics", str(folder / "samples.txt"), str(folder / "series"))
    (folder / "empty.yml").write_text("scrape_configs: []\n")
    with prometheus(folder / "empty.yml", folder / "series") as running:
        yield running


def _found(program: str) -> str:
    path = shutil.which(program)
    assert path is not None, f"{program} is missing: apt-get install prometheus"
    return path


def _until_ready(url: str, process: "subprocess.Popen[bytes]") -> None:
    end_s = time.monotonic() + START_S
    while True:
        try:
            if httpx.get(f"{url}/-/ready", timeout=2).status_code == 200:
                return
        except httpx.TransportError:
            pass
        assert process.poll() is None, "Prometheus has ended; see prometheus.log"
        assert time.monotonic() < end_s, "Prometheus is not ready"
        time.sleep(0.1)
