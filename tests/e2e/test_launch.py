"""``sparring launch``: how it ends."""

import contextlib
import signal
import socket
from pathlib import Path

import psutil
import pytest

from .commands import BIN, GONE_S, RL, START_S, Command, Place, listens, wait_until

pytestmark = pytest.mark.e2e

ENDLESS = "launch.goal.mean_return=1000"


def launch(place: Place, *overrides: str) -> list[str]:
    settings = [f"actors.main.port={place.game_port}", "launch.deploy_config=null", ENDLESS, *overrides]
    words = [f"--set={setting}" for setting in settings]
    return [str(BIN / "sparring"), "launch", f"--config={RL}", f"--serve-port={place.serve_port}", *words]


def imports(command: Command) -> bool:
    """Returns whether the command has begun to import what it needs: before that Python itself ends at Ctrl-C."""
    return "psutil" in Path(f"/proc/{command.process.pid}/maps").read_text()


def niceness_of(command: Command) -> set[int]:
    """Returns how nice the replicas and learners of a launch are."""
    found = set()
    for process in command.left_behind():
        with contextlib.suppress(psutil.NoSuchProcess):
            if process.name().startswith(("ray::Serve", "ray::RayTrain")):
                found.add(process.nice())
    return found


def assert_gone(place: Place, command: Command) -> None:
    wait_until(lambda: not command.left_behind(), lambda: f"{command.left_behind()} end\n{command.output}", GONE_S)
    assert not listens(place.game_port)
    assert not listens(place.serve_port)


@pytest.mark.parametrize(
    ("sent", "stage"),
    [
        (signal.SIGINT, "at once"),
        (signal.SIGINT, "starting Ray"),
        (signal.SIGINT, "starting service and trainer"),
        pytest.param(signal.SIGINT, "training", marks=pytest.mark.long),
        (signal.SIGTERM, "games "),
    ],
)
def test_ctrl_c_and_sigterm_end_a_launch_and_all_that_it_started(
    place: Place, sent: signal.Signals, stage: str
) -> None:
    command = place.start(*launch(place))
    if stage == "at once":
        wait_until(lambda: imports(command), lambda: command.output, START_S)
    else:
        command.until(stage)
    if stage == "games ":  # It trains.
        assert niceness_of(command) == {0}, "a tick waits for no other program"
    assert command.end(sent, 20) == 130, command.output
    assert "Traceback" not in command.output
    assert_gone(place, command)


def test_a_port_in_use_is_named(place: Place) -> None:
    with socket.create_server(("127.0.0.1", place.game_port)):
        ended = place.run(*launch(place))
    assert ended.returncode == 1
    assert f"port {place.game_port} on 127.0.0.1 cannot be used" in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    ("override", "told"),
    [
        ("trainers.main.learning_rate=1", "learning_rate"),
        ("models.main.factory=no.such:model", "no.such"),
        ("models.main.factory=app.games.cartpole.model:missing", "missing"),
    ],
)
def test_a_wrong_config_is_told_in_a_line(place: Place, override: str, told: str) -> None:
    ended = place.run(*launch(place, override))
    assert ended.returncode == 1, ended.stderr
    assert told in ended.stderr
    assert "Traceback" not in ended.stderr
