"""Event loops: uvloop's where it is installed, else Python's own."""

import asyncio


def new_loop() -> asyncio.AbstractEventLoop:
    """Returns an event loop that is not set or run yet; there is no uvloop on Windows or in the smallest install."""
    try:
        import uvloop  # noqa: PLC0415
    except ImportError:
        return asyncio.new_event_loop()
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop
