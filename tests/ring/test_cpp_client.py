"""Games of the C++ client on a live service: they outlive its replicas, and every answer is checked."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.client.cpp.build import build_example

from .service import Cluster, Service, wait_until
from .test_hand_over import kill, pids

pytestmark = [pytest.mark.ray, pytest.mark.timeout(360)]

ECHO = (
    "agents.player.factory=echo_agent:EchoAgent",
    "agents.player.model=null",
    "agents.player.buffer=null",
)
GAMES = 40
TICKS = 250
GAME_TIMEOUT_S = 120


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example game core."""
    return build_example(tmp_path_factory.mktemp("cpp"))


def play(example: Path, service: Service, during: Callable[[], None]) -> dict[str, Any]:
    """Returns what the example says of its games; ``during`` runs once some of their ticks are played."""
    words = f"--port={service.port} --games={GAMES} --ticks={TICKS} --pipeline=4 --connections=2 --agent=player"
    command = [str(example), *words.replace("=", " ").split()]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as game:
        try:
            wait_until(lambda: service.trial.metrics.totals().get("ticks_train", 0) > 5 * GAMES, "games are played")
            during()
            output, errors = game.communicate(timeout=GAME_TIMEOUT_S)
        finally:
            game.kill()
    assert game.returncode == 0, (output, errors)
    told: dict[str, Any] = json.loads(output)
    assert (told["lost"], told["wrong"], told["ticks"]) == (0, 0, GAMES * TICKS)
    return told


def test_pipelined_games_go_on_through_the_kill_of_a_replica(cluster: Cluster, example: Path) -> None:
    overrides = ("actors.main.replicas=2", "actors.main.snapshot_every_ticks=1")
    with Service(cluster, "cpp_killed", *overrides, *ECHO) as service:
        processes = pids(service, 2)
        told = play(example, service, lambda: kill(processes.popitem()[1]))
        assert told["resumed"] > 0


def test_pipelined_games_go_on_through_a_rolling_update(cluster: Cluster, example: Path) -> None:
    with Service(cluster, "cpp_rolling", "actors.main.replicas=2", *ECHO) as service:
        told = play(example, service, service.deploy)
        assert told["resumed"] == 0
        assert told["connects"] > 2
