import asyncio
import dataclasses
import sys
from pathlib import Path

import orjson

from app.client.result import SimulationResult

from .fake_service import fake_service

ROOT = Path(__file__).parents[2]


async def command(*words: str) -> asyncio.subprocess.Process:
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "app.client", *words, cwd=ROOT, stdout=pipe, stderr=pipe
    )


async def test_sigterm_closes_the_games_and_exits_0() -> None:
    async with fake_service(lambda session: len(session.steps) % 2) as service:
        process = await command("--url", service.url, "--games", "4", "--env", "CartPole-v1", "--seed", "1")
        await service.until(lambda: service.ticks >= 50)
        process.terminate()
        out, err = await asyncio.wait_for(process.communicate(), 30)
    assert (process.returncode, err) == (0, b"")
    assert all(session.stopped for session in service.sessions.values())
    assert sum(session.steps[-1][2]["truncated"] for session in service.sessions.values()) <= 4
    printed = orjson.loads(out)
    assert list(printed) == [f.name for f in dataclasses.fields(SimulationResult)]
    assert (printed["ticks"], printed["purpose"]) == (service.ticks, "train")


async def test_games_cut_by_sigterm_exit_1_when_a_number_was_asked_for() -> None:
    async with fake_service(lambda session: len(session.steps) % 2) as service:
        process = await command("--url", service.url, "--games", "2", "--episodes", "1000000")
        await service.until(lambda: service.ticks >= 50)
        process.terminate()
        _, err = await asyncio.wait_for(process.communicate(), 30)
    assert process.returncode == 1
    assert b"of 1000000 games" in err


async def test_a_wrong_environment_exits_1_with_one_line() -> None:
    process = await command("--env", "NoSuchGame-v0")
    out, err = await asyncio.wait_for(process.communicate(), 30)
    assert (process.returncode, out) == (1, b"")
    assert err.startswith(b"sparring simulate: Gymnasium cannot make 'NoSuchGame-v0': ")
    assert err.count(b"\n") == 1
