"""A game of Unity's ML-Agents plays with the service."""

import logging
import socket
import subprocess
import threading
import time
import venv
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.bridges.unity import unity_pb2 as pb
from app.bridges.unity.server import serve
from app.errors import PortInUseError
from tests.bridges.running import Running, running
from tests.client.fake_service import FakeService

from .game import POLES, Game


@pytest.fixture
def bridge(service: FakeService) -> Iterator[Running]:
    with running(serve, service.url, episodes=4, seats={"Poles": "player"}) as made:
        yield made


def test_its_agents_play_to_the_end_and_their_rewards_arrive(service: FakeService, bridge: Running) -> None:
    game = Game(2, masked=True)
    game.play(bridge.port)
    assert bridge.result().episodes == 4
    assert game.orders[0].command == pb.COMMAND_RESET
    assert [list(action.discrete) for action in game.orders[1].actions[POLES].actions] == [[1], [1]]
    over = [session for session in service.sessions.values() if session.bodies("stop")[0].get("terminated")]
    assert len(over) == 4
    for session in over:
        assert session.session.endswith("-agent-player")
        assert session.bodies("tick")[0]["action_mask"] == [False, True]
        assert [tick["reward"] for tick in session.bodies("tick")[1:]] == [1.0] * (len(session.bodies("tick")) - 1)
        assert len(session.bodies("stop")[0]["observation"]) == 4
    assert all(session.stopped for session in service.sessions.values())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": "2.0.0"}, "the version '2.0.0'; allowed is 1."),
        ({"behavior": pb.Behavior(name="old")}, "no action that can be served"),
    ],
)
def test_a_game_that_cannot_be_served_is_told_and_ended(
    bridge: Running, caplog: pytest.LogCaptureFixture, change: dict[str, object], message: str
) -> None:
    game = Game(1)
    for name, value in change.items():
        setattr(game, name, value)
    with caplog.at_level(logging.ERROR):
        game.play(bridge.port)
    assert message in caplog.text


def test_a_port_that_is_taken_is_told(service: FakeService, bridge: Running) -> None:
    with running(serve, service.url, port=bridge.port) as second, pytest.raises(PortInUseError, match="another --port"):
        second.result()


def test_a_game_that_says_nothing_is_given_up_and_its_sessions_end(
    service: FakeService, caplog: pytest.LogCaptureFixture
) -> None:
    class Mute(Game):
        def step(self, orders: pb.Orders) -> pb.Frame:
            if len(self.orders) == 3:
                assert gone.wait(30)
                raise InterruptedError
            return super().step(orders)

    gone = threading.Event()
    with caplog.at_level(logging.ERROR), running(serve, service.url, idle_s=0.3) as bridge:
        playing = threading.Thread(target=play_on, args=(Mute(2), bridge.port))
        playing.start()
        wait_until(lambda: len(service.sessions) == 2 and all(one.stopped for one in service.sessions.values()))
        gone.set()
        playing.join(30)
    assert "it said nothing for 0.3 s" in caplog.text
    assert [one.bodies("stop")[0]["truncated"] for one in service.sessions.values()] == [True, True]


def play_on(game: Game, port: int) -> None:
    with pytest.raises(InterruptedError):
        game.play(port)


def wait_until(claim: Callable[[], bool]) -> None:
    end_s = time.monotonic() + 30
    while not claim():
        assert time.monotonic() < end_s
        time.sleep(0.01)


REAL = """
import sys
from mlagents_envs.environment import UnityEnvironment
env = UnityEnvironment(base_port=int(sys.argv[1]), timeout_wait=60)
env.reset()
((name, spec),) = env.behavior_specs.items()
over = 0
while over < 2:
    decisions, terminal = env.get_steps(name)
    over += len(terminal)
    env.set_actions(name, spec.action_spec.random_action(len(decisions)))
    env.step()
env.close()
print(name, spec.observation_specs[0].shape, spec.action_spec.discrete_branches)
"""


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_game_of_these_tests_plays_with_the_real_trainer_as_well(tmp_path: Path) -> None:
    """So it speaks as Unity does. The package needs an old protobuf: it gets an environment of its own."""
    venv.create(tmp_path, with_pip=True)
    python = str(tmp_path / "bin" / "python")
    needed = ["mlagents-envs==0.28.0", "protobuf<3.21", "numpy<1.24", "setuptools<81"]
    subprocess.run([python, "-m", "pip", "install", "-q", *needed], check=True, timeout=240)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    trainer = subprocess.Popen(
        [python, "-c", REAL, str(port)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    game = Game(2)
    try:
        game.play(port)  # It waits until somebody answers.
    finally:
        output, errors = trainer.communicate(timeout=60)
    assert output.endswith("Poles?team=0 (4,) (2,)\n"), errors
    assert game.falls >= 2
