"""Runs a bridge in a thread, as its process would."""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

from app.bridges.serving import Bridge, Serve, Settings, run_bridge
from app.client.result import SimulationResult

WAIT_S = 30.0


class Running:
    """A bridge that runs; its result is there once it is over."""

    def __init__(self, serve: Serve, settings: Settings) -> None:
        self.port = 0
        self._serve, self._settings = serve, settings
        self._bridge: Bridge | None = None
        self._ready = threading.Event()
        self._result: Future[SimulationResult] = Future()
        self.thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self.thread.start()
        assert self._ready.wait(WAIT_S)

    def stop(self) -> None:
        """Does what a signal does."""
        if self._bridge is not None and self.thread.is_alive():
            self._loop.call_soon_threadsafe(self._bridge.over.set)
        self.thread.join(WAIT_S)
        assert not self.thread.is_alive()

    def result(self) -> SimulationResult:
        return self._result.result(WAIT_S)

    def _run(self) -> None:
        try:
            self._result.set_result(asyncio.run(self._main()))
        except BaseException as error:  # noqa: BLE001  # Raised by who asks for the result.
            self._result.set_exception(error)
        finally:
            self._ready.set()

    async def _main(self) -> SimulationResult:
        self._loop = asyncio.get_running_loop()

        async def serve(bridge: Bridge, listening: Any) -> None:
            self._bridge = bridge
            await self._serve(bridge, listening)

        return await run_bridge("test", self._settings, serve, self._listening)

    def _listening(self, port: int) -> None:
        self.port = port
        self._ready.set()


@contextmanager
def running(serve: Serve, url: str, **settings: Any) -> Iterator[Running]:
    bridge = Running(serve, Settings(url, **({"port": 0} | settings)))
    bridge.start()
    try:
        yield bridge
    finally:
        bridge.stop()
