"""Games of the C++ client on a live service: they outlive its replicas, and every answer is checked."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.client.cpp.build import build_example

from .service import Cluster, Service, wait_until
from .test_hand_over import kill

pytestmark = [pytest.mark.ray, pytest.mark.long]

ECHO = (
    "agents.player.factory=slow_echo_agent:SlowEchoAgent",
    "agents.player.model=null",
    "agents.player.buffer=null",
)
GAMES = 40
GAME_TIMEOUT_S = 60


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example game core."""
    return build_example(tmp_path_factory.mktemp("cpp"))


def ticks(service: Service) -> int:
    """Returns how many ticks all replicas, those gone included, have answered."""
    return int(service.trial.metrics.totals().get("ticks_train", 0))


def play(example: Path, service: Service, during: Callable[[], None]) -> dict[str, Any]:
    """Returns what the example says of its games; ``during`` runs in their midst."""
    words = f"--port {service.port} --games {GAMES} --ticks 1000000 --pipeline 4 --connections 4 --until-eof 1"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([example, *words.split()], text=True, **pipes) as game:
        try:
            wait_until(lambda: ticks(service) > 5 * GAMES, "games are played")
            during()
            before = ticks(service)
            wait_until(lambda: ticks(service) > before + 10 * GAMES, "games go on", 60)
            output, errors = game.communicate(timeout=GAME_TIMEOUT_S)
        except AssertionError as error:
            raise AssertionError(game.communicate(timeout=GAME_TIMEOUT_S)) from error
        finally:
            game.kill()
    assert game.returncode == 0, (output, errors)
    told: dict[str, Any] = json.loads(output)
    assert (told["lost"], told["wrong"], told["errors"]) == (0, 0, 0)
    return told


def busiest(service: Service) -> int:
    """Returns the process of the replica that holds most games."""
    found: dict[int, int] = {}

    def both() -> bool:
        with service.new_client() as http:
            status = http.get("/status").json()
        found[status["pid"]] = status["sessions"]
        return len(found) == 2

    wait_until(both, "both replicas answer")
    return max(found, key=lambda pid: found[pid])


def test_pipelined_games_go_on_through_the_kill_of_a_replica(cluster: Cluster, example: Path) -> None:
    overrides = ("actors.main.replicas=2", "actors.main.snapshot_every_ticks=1")
    with Service(cluster, "cpp_killed", *overrides, *ECHO) as service:
        told = play(example, service, lambda: kill(busiest(service)))
        assert told["resumed"] > 0


def test_pipelined_games_go_on_through_a_rolling_update(cluster: Cluster, example: Path) -> None:
    with Service(cluster, "cpp_rolling", "actors.main.replicas=2", *ECHO) as service:
        told = play(example, service, service.deploy)
        assert told["resumed"] == 0
        assert told["connects"] > 4  # Each connection was to a replica that is gone.
