"""Plays against a fake service and looks at what it saw."""

import asyncio
from typing import Any

import pytest

from app.client.result import SimulationResult
from app.client.simulator import Simulation, Transport, play
from app.types import Purpose

from .fake_service import FakeService, FakeSession

both_transports = pytest.mark.parametrize("transport", list(Transport))


async def run(service: FakeService, stop: asyncio.Event | None = None, **changes: Any) -> SimulationResult:
    """Returns what playing short games did."""
    chosen = {"env": "Counting-v0", "games": 3, "seed": 100, "purpose": Purpose.EVALUATE, "wait_s": 20.0} | changes
    async with asyncio.timeout(30):
        return await play(Simulation(url=service.url, **chosen), stop or asyncio.Event())


def by_seed(service: FakeService) -> dict[int, FakeSession]:
    """Returns the sessions by the seed that their first observation shows."""
    sessions = list(service.sessions.values())
    found = {int(session.bodies("tick")[0]["observation"][0]): session for session in sessions}
    assert len(found) == len(sessions)
    return found
