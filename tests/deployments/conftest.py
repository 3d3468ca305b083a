import asyncio
from collections.abc import Callable, Mapping

import uvloop


def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Runs each test on both loops: tests and simulators use the one, Serve's replicas the other."""
    return {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}
