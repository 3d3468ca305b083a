"""What works where something is missing: modules are hidden in a process of their own."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.client.background import service_in_thread
from tests.hiding import HIDE

ROOT = Path(__file__).parents[2]
PLAY = """
from app.client.sync import Client

with Client(sys.argv[2], compression="gzip") as client, client.start(delta=True) as session:
    print([session.tick({"observation": [1, 2], "map": [0] * 1000}).value["action"] for _ in range(2)])
"""


def without(hidden: str, code: str, *words: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", HIDE + code, hidden, *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=50, check=False)


@pytest.mark.parametrize("hidden", ["uvloop", "numpy,google", "zstandard", "uvloop,numpy,google,zstandard"])
def test_the_client_plays_without_what_is_not_installed_everywhere(hidden: str) -> None:
    with service_in_thread() as service:
        done = without(hidden, PLAY, service.url)
    assert done.stdout == "[1, 1]\n", done.stderr


def test_simulating_needs_no_uvloop_and_names_the_extra_for_games() -> None:
    code = "from app.client.loops import new_loop; loop = new_loop(); print(type(loop).__module__); loop.close()"
    assert without("uvloop", code).stdout.startswith("asyncio.")
    code = (
        "from app.client.environments import make_environments as make; make('CartPole-v1', 1, 0, seeded_episodes=True)"
    )
    assert "simulating needs Gymnasium: pip install 'sparring[games]'" in without("gymnasium", code).stderr


def test_zstd_is_refused_where_it_is_not_installed() -> None:
    code = "from app.client.sync import Client; Client('http://127.0.0.1:9', compression='zstd')"
    done = without("zstandard", code)
    assert done.returncode != 0
    assert "zstandard" in done.stderr
