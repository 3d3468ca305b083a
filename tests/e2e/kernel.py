"""A notebook's kernel in a test, with files of its own."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import psutil
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager

from .commands import ROOT, Place

START_S = 60.0


@contextmanager
def kernel(place: Place) -> Iterator["Kernel"]:
    """Runs a kernel for as long as the block runs."""
    manager = KernelManager(kernel_name="python3")
    manager.start_kernel(cwd=str(ROOT), env=place.env | {"PYTHONPATH": str(ROOT)})
    client = manager.blocking_client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=START_S)
        yield Kernel(manager, client)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


class Kernel:
    """Runs cells."""

    def __init__(self, manager: KernelManager, client: BlockingKernelClient) -> None:
        self._manager = manager
        self._client = client

    def run(self, code: str, timeout_s: float = 120.0) -> Mapping[str, Any]:
        """Runs a cell and returns the reply."""
        reply: Mapping[str, Any] = self._client.execute_interactive(code, timeout=timeout_s, output_hook=lambda _: None)
        return reply["content"]

    def run_until(self, code: str, pattern: str, timeout_s: float = 240.0) -> Mapping[str, Any]:
        """Runs a cell, interrupts it as a user would once its output fits a pattern, and returns the reply."""
        seen = []

        def look(message: Mapping[str, Any]) -> None:
            said = str(message["content"].get("data", message["content"]))
            if re.search(pattern, said) and not seen:
                seen.append(said)
                self._manager.interrupt_kernel()

        reply: Mapping[str, Any] = self._client.execute_interactive(code, timeout=timeout_s, output_hook=look)
        assert seen, f"it never said {pattern!r}"
        return reply["content"]

    def children(self) -> list[psutil.Process]:
        """Returns what the kernel has started and that still runs."""
        provisioner = self._manager.provisioner
        assert provisioner is not None
        return psutil.Process(provisioner.pid).children(recursive=True)  # type: ignore[attr-defined]
