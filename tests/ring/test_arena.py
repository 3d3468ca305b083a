"""The arena, served from its shipped config and played by its game core."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from app.config.load import load

from .service import Cluster, Service

pytestmark = pytest.mark.ray

ROOT = Path(__file__).parents[2]
GAMES = 20
ROOMY = ("actors.main.limits.board_timeout_s=30",)
"""The core ends with the first step that fails; a machine may stand still for longer than agents usually wait."""


@pytest.fixture(scope="module")
def service(cluster: Cluster) -> Iterator[Service]:
    arena = Service(cluster, "arena")
    arena.config = load(ROOT / "configs" / "arena.yaml", [*ROOMY, "run.trial=arena", "actors.main.port=0"])
    with arena as running:
        yield running


def played(service: Service, seed: int, purpose: str) -> dict[str, Any]:
    words = ["--url", service.url, "--episodes", str(GAMES), "--seed", str(seed), "--purpose", purpose]
    core = subprocess.run(
        [sys.executable, "-m", "app.games.arena.core", *words], cwd=ROOT, capture_output=True, timeout=120, check=False
    )
    assert core.returncode == 0, core.stdout.decode() + core.stderr.decode()
    result: dict[str, Any] = orjson.loads(core.stdout)
    return result


def counted(service: Service, name: str) -> int:
    return int(service.status()["counts"].get(name, 0))


def test_twenty_games_of_several_agents_end_and_the_counts_match(service: Service) -> None:
    result = played(service, 1, "evaluate")
    assert (result["episodes"], result["failures"]) == (GAMES, [])
    assert result["sessions"] >= 3 * GAMES  # A player, the bosses and the observer at least.
    assert counted(service, "ticks_evaluate") == result["actions"] + 2 * result["ticks"]
    assert result["steps"] == counted(service, "ticks_evaluate") + 2 * result["sessions"]
    assert service.status()["sessions"] == 0
    assert played(service, 1, "evaluate")["digest"] == result["digest"]


def test_published_weights_play_and_their_games_are_recorded(service: Service) -> None:
    version = service.publish(3)
    result = played(service, 2, "train")
    assert (result["episodes"], result["failures"]) == (GAMES, [])
    assert counted(service, "ticks_train") == result["actions"] + 2 * result["ticks"]
    assert service.status()["versions"]["main"] == str(version)
