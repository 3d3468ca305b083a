import asyncio
import errno

import pytest

from app.client.kept import ConnectionLostError
from app.client.reach import UNREACHED, Reach, reach, reach_of
from deployments.port import free_port

HOST = "127.0.0.1"


async def test_a_connection_to_who_listens_is_accepted_and_to_nobody_refused() -> None:
    server = await asyncio.start_server(lambda _, writer: writer.close(), HOST, 0)
    async with server:
        assert await reach(HOST, server.sockets[0].getsockname()[1], 10.0) is Reach.ACCEPTED
    assert await reach(HOST, free_port(HOST), 10.0) is Reach.REFUSED


@pytest.mark.parametrize(
    ("cause", "reached"),
    [
        (ConnectionRefusedError(), Reach.REFUSED),
        (TimeoutError(), Reach.SILENT),
        *[(OSError(number, "no way"), Reach.SILENT) for number in UNREACHED],
        (OSError(errno.EMFILE, "too many open files"), Reach.UNCLEAR),
        (ConnectionResetError(), Reach.UNCLEAR),
        (None, Reach.UNCLEAR),
    ],
)
def test_what_a_system_says_tells_a_dead_process_from_a_dead_machine(
    cause: BaseException | None, reached: Reach
) -> None:
    error = ConnectionLostError("lost", sent=False)
    error.__cause__ = cause
    assert reach_of(error) is reached
