import asyncio

import pytest

from app.logs.tasks import told


async def test_a_task_that_fails_is_told_with_its_traceback(caplog: pytest.LogCaptureFixture) -> None:
    async def fails() -> None:
        raise ValueError("why")

    async def goes_on() -> None:
        await asyncio.Event().wait()

    failing, going = told(asyncio.create_task(fails())), told(asyncio.create_task(goes_on()))
    going.cancel()
    await asyncio.gather(failing, going, return_exceptions=True)
    [record] = caplog.records
    assert "fails ended, which was to run on: why" in record.message
    assert record.exc_info is not None
