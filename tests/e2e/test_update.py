"""Declarative deploys: a changed config rolls, a changed number of replicas does not, and the game port stays."""

import tarfile
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from typing import Any

import httpx
import psutil
import pytest

from tests.docs.blocks import block_of

from .commands import END_S, ROOT, START_S, Place, listens, new_place, wait_until
from .machine import Machine

pytestmark = pytest.mark.e2e

TWO = "actors.main.replicas=2"
UPDATE_S = 90.0
"""Longest time of a rolling update on a busy machine."""
RETRY_S = 60.0
"""Longest time in which a game core that is refused or cut off has begun elsewhere."""
OBSERVATION = {"observation": [0.01, 0.02, 0.03, 0.04]}


@pytest.fixture(scope="module")
def head() -> Iterator[Machine]:
    """One cluster for all tests, which must be whole at the end of each."""
    with new_place() as place:
        machine = Machine(place)
        yield machine
        stopped = place.run("serve", "shutdown", "-y", **machine.reach)
        assert stopped.returncode == 0, stopped.stderr
        wait_until(lambda: not listens(place.game_port), lambda: "the game port is closed", END_S)
        machine.close()


@pytest.fixture
def machine(head: Machine) -> Machine:
    """Two replicas of the shipped config, whatever the test before has declared."""
    head.serve_deploy(TWO)

    def whole() -> bool:
        status = head.serve_status()
        return (status.status, status.replicas) == ("RUNNING", {"RUNNING": 2}) and len(replicas(head.place)) == 2

    wait_until(whole, lambda: head.head.output, START_S)
    return head


def test_a_changed_config_rolls_and_a_changed_number_scales_in_place(machine: Machine) -> None:
    place = machine.place
    first, stores = set(replicas(place)), store_processes(machine)
    assert len(stores) == 2  # Weights, metrics and directory; and the buffer.

    machine.serve_deploy(TWO, "actors.main.push_ms=40")
    second = until_rolled(machine, first, 2)
    assert store_processes(machine) == stores

    machine.serve_deploy(TWO, "actors.main.push_ms=40")  # Nothing has changed: nothing happens.
    machine.serve_deploy(TWO, "actors.main.push_ms=40", deployments=[{"name": "actor-main", "num_replicas": 3}])
    third = wait_until(lambda: at_least(place, 3), lambda: "three replicas answer", UPDATE_S)
    assert len(third) == 3
    assert third > second

    machine.serve_deploy(TWO, "actors.main.push_ms=40", revision="b")  # The config file has changed, say.
    until_rolled(machine, second, 2)
    assert store_processes(machine) == stores


@pytest.mark.long
def test_the_commands_of_the_page_back_up_and_roll(machine: Machine) -> None:
    place, before = machine.place, set(replicas(machine.place))
    block = block_of("docs/operations.md", "before.tar")
    (place.folder / "configs").symlink_to(ROOT / "configs")
    machine.serve_config(TWO, revision="2026-12-01")
    done = place.run("/bin/bash", "-euc", f"cd {place.folder}\n{block.text}", timeout_s=200, **machine.reach)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "sparring:" in done.stdout  # Serve's status, at the end.
    with tarfile.open(place.folder / "before.tar") as backup:
        assert backup.getnames()
    until_rolled(machine, before, 2)


def test_a_config_that_cannot_start_leaves_the_old_replicas_as_they_are(machine: Machine) -> None:
    place, before = machine.place, set(replicas(machine.place))
    machine.serve_deploy(TWO, "actors.main.no_such_key=1")
    wait_until(lambda: machine.serve_status().status == "DEPLOY_FAILED", lambda: "it fails", UPDATE_S)
    assert "no_such_key" in machine.serve_status().message
    assert set(replicas(place)) == before
    assert play_one(place) == "1"


@pytest.mark.parametrize(
    "crash",
    [
        pytest.param(["agents.player.factory=no.such:Agent"], id="agent"),
        pytest.param(
            ["models.main.engine=onnx", "models.main.factory=tests.ring.broken_models:unfollowed"],
            id="ONNX model",
            marks=pytest.mark.long,
        ),
    ],
)
def test_replicas_that_crash_when_they_start_cost_no_game(machine: Machine, crash: list[str]) -> None:
    place, before = machine.place, set(replicas(machine.place))
    games = begun(place, 20)
    machine.serve_deploy(TWO, *crash)
    played = 0
    while machine.serve_status().status != "DEPLOY_FAILED":
        played += 1
        assert [tick(place, game) for game in games] == [str(played)] * 20
    assert played
    assert set(replicas(place)) == before
    machine.serve_deploy(TWO)  # Back to what runs still.
    wait_until(lambda: machine.serve_status().status == "RUNNING", lambda: "it runs", UPDATE_S)
    assert [tick(place, game) for game in games] == [str(played + 1)] * 20
    assert set(replicas(place)) == before


@pytest.mark.long
def test_an_update_may_change_the_game_port(machine: Machine) -> None:
    place, old = machine.place, machine.place.game_port
    moved = Place(place.folder)
    machine.serve_deploy(TWO, f"actors.main.port={moved.game_port}")
    wait_until(lambda: len(replicas(moved)) == 2, lambda: "the new port is served by both", UPDATE_S)
    wait_until(lambda: not listens(old), lambda: "the old port is closed", UPDATE_S)
    assert play_one(moved) == "1"
    machine.serve_deploy(TWO)
    wait_until(lambda: len(replicas(place)) == 2, lambda: "the old port is served again", UPDATE_S)


def test_games_in_progress_outlive_an_update(machine: Machine) -> None:
    place, before = machine.place, set(replicas(machine.place))
    games = begun(place, 100)
    machine.serve_deploy(TWO, "actors.main.push_ms=40")
    played = 0
    while not rolled(machine, before, 2):
        played += 1
        assert [tick(place, game) for game in games] == [str(played)] * 100
    assert [tick(place, game) for game in games] == [str(played + 1)] * 100
    assert played > 0


def until_rolled(machine: Machine, before: set[int], count: int) -> set[int]:
    """Returns the processes of the new replicas; game cores begin and end games all the while."""
    played = 0
    while not rolled(machine, before, count):
        assert play_one(machine.place) == "1"
        played += 1
    assert played > 0
    return set(replicas(machine.place))


def rolled(machine: Machine, before: set[int], count: int) -> bool:
    """Returns whether all replicas are new ones, and the old ones are gone."""
    status = machine.serve_status()
    assert status.status != "DEPLOY_FAILED", status
    if status.replicas != {"RUNNING": count}:
        return False
    now = set(replicas(machine.place))
    return len(now) == count and not now & before


def play_one(place: Place) -> str:
    """Starts a game, plays a tick and returns its number; one that is refused or cut off begins anew elsewhere."""

    def played() -> str | None:
        with httpx.Client(base_url=place.url, timeout=10) as http:
            start = step(http, kind="start")
            if not taken(start):
                return None
            session = start.headers["session"]
            ticked = step(http, session)
            if not taken(ticked):
                return None
            step(http, session, "stop")
            return ticked.headers["seq"]

    return str(wait_until(played, lambda: "a game is played", RETRY_S))


def taken(reply: httpx.Response) -> bool:
    """Returns whether a step was answered; it may have been refused for now, and for no other reason."""
    if reply.status_code != 200:
        assert reply.json()["code"] in ("draining", "overloaded"), reply.text
    return reply.status_code == 200


def begun(place: Place, count: int) -> list[str]:
    """Starts games over one connection, and returns their sessions."""

    def started(http: httpx.Client) -> str | None:
        reply = step(http, kind="start")
        return reply.headers["session"] if taken(reply) else None

    with httpx.Client(base_url=place.url, timeout=30) as http:
        return [str(wait_until(lambda: started(http), lambda: "a game begins", RETRY_S)) for _ in range(count)]


def tick(place: Place, session: str) -> str:
    """Plays a tick over a connection of its own, and returns its number."""

    def played() -> str | None:
        with httpx.Client(base_url=place.url, timeout=10) as http:
            reply = step(http, session)
        return reply.headers["seq"] if taken(reply) else None

    return str(wait_until(played, lambda: f"{session} goes on", RETRY_S))


def step(http: httpx.Client, session: str = "", kind: str = "tick") -> httpx.Response:
    headers = {"step_kind": kind} | ({"session": session} if session else {})
    return http.post("/step", headers=headers, json=OBSERVATION if kind == "tick" else None)


def replicas(place: Place) -> dict[int, dict[str, Any]]:
    """Returns the status of each replica that listens, by its process."""
    found: dict[int, dict[str, Any]] = {}
    with ExitStack() as stack:
        for _ in range(24):  # The kernel spreads connections over the listeners.
            http = stack.enter_context(httpx.Client(base_url=place.url, timeout=10))
            with suppress(httpx.TransportError):  # One that closes its port just now.
                status = http.get("/status").json()
                found[status["pid"]] = status
    return found


def at_least(place: Place, count: int) -> set[int] | None:
    """Returns the processes of the replicas; None where fewer answer: now and then the kernel leaves one out."""
    found = set(replicas(place))
    return found if len(found) >= count else None


def store_processes(machine: Machine) -> set[int]:
    """Returns the processes of the stores."""
    found = set()
    for process in machine.head.left_behind():
        with suppress(psutil.Error):  # One has ended meanwhile, as replicas do that were replaced.
            if "ray::Host" in " ".join(process.cmdline()):
                found.add(process.pid)
    return found
