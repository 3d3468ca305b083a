import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest

from app.games.arena.core import Run, run
from app.types import Purpose
from deployments.health import Health
from deployments.steps import StepService
from tests.deployments.wire_client import listening

from .in_process import ArenaService

ROOT = Path(__file__).parents[3]
MAX_BODY = 100_000
WAIT_S = 50.0


@asynccontextmanager
async def game_port(service: ArenaService) -> AsyncIterator[str]:
    """Runs the product's listener in front of the agents; yields its URL."""
    step = service.table.step
    health = Health(lambda: {"healthy": True, "ready": True})
    answers = StepService(step, health, health, MAX_BODY)
    async with listening(answers.answer, MAX_BODY) as listener:
        yield f"http://127.0.0.1:{listener.port}"


async def test_games_are_played_over_http_and_equal_seeds_have_equal_digests() -> None:
    results = []
    for seed in (5, 5, 6):
        service = ArenaService(Purpose.EVALUATE)
        async with game_port(service) as url:
            results.append(await run(Run(url, seed=seed, games=3, episodes=4, wait_s=5)))
        assert len(service.table) == 0
        assert results[-1].failures == ()
        assert results[-1].episodes == 4
        assert service.counts["ticks_evaluate"] == results[-1].actions + 2 * results[-1].ticks
    assert results[0].digest == results[1].digest != results[2].digest


async def command(*arguments: str) -> tuple[int | None, str, str]:
    """Returns exit code, output and errors of the game core's command."""
    words = (sys.executable, "-m", "app.games.arena.core", *arguments)
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*words, cwd=ROOT, stdout=pipe, stderr=pipe)
    async with asyncio.timeout(WAIT_S):
        out, errors = await process.communicate()
    return process.returncode, out.decode(), errors.decode()


async def test_the_command_prints_one_line_of_json() -> None:
    async with game_port(ArenaService()) as url:
        code, out, errors = await command("--url", url, "--episodes", "2", "--purpose", "train")
    assert (code, errors) == (0, ""), out
    result: dict[str, Any] = orjson.loads(out)
    assert (out.count("\n"), result["episodes"], result["failures"]) == (1, 2, [])


async def test_the_command_fails_when_a_game_does(monkeypatch: pytest.MonkeyPatch) -> None:
    service = ArenaService()
    monkeypatch.setattr(service, "classes", {})  # Nobody observes, and the bosses have a player's agent.
    async with game_port(service) as url:
        code, out, _ = await command("--url", url, "--episodes", "1")
    assert code == 1
    assert "game 0: " in orjson.loads(out)["failures"][0]


async def test_the_command_says_that_nobody_serves() -> None:
    code, out, errors = await command("--url", "http://127.0.0.1:9", "--wait-s", "0.1")
    assert (code, out) == (1, "")
    assert errors.startswith("arena: no service is ready at http://127.0.0.1:9")


async def test_the_game_core_needs_neither_torch_nor_ray() -> None:
    told = "import sys, app.games.arena.core; print({'torch', 'ray', 'mlflow'} & set(sys.modules))"
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", told, cwd=ROOT, stdout=asyncio.subprocess.PIPE)
    async with asyncio.timeout(WAIT_S):
        out, _ = await process.communicate()
    assert out.decode() == "set()\n"
