"""A game of Unity's ML-Agents plays with the service."""

import json
import logging
import subprocess
import threading
import time
import venv
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from app.bridges.unity import unity_pb2 as pb
from app.bridges.unity.pictures import read_pictures
from app.bridges.unity.server import serve
from app.errors import PortInUseError
from deployments.port import free_port
from tests.bridges.running import Running, running
from tests.client.fake_service import FakeService

from .game import POLES, Game
from .pictures import eye, random_pixels


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


def test_games_that_end_in_the_same_frame_all_count(service: FakeService) -> None:
    game = Game(2)
    game.seeds = [1, 1]
    with running(serve, service.url, episodes=1) as bridge:
        game.play(bridge.port)
    assert (bridge.result().episodes, game.falls) == (2, 2)


def test_its_compressed_pictures_arrive(service: FakeService, bridge: Running) -> None:
    game, pixels = Game(1), random_pixels(4, 5, 3)
    game.eyes = [eye(pixels, [4, 5, 3])]
    game.play(bridge.port)
    assert bridge.result().episodes == 4
    for session in service.sessions.values():
        seen = session.bodies("tick")[0]["observation"]
        assert len(seen["pole"]) == 4
        np.testing.assert_allclose(seen["eye"], pixels / 255, rtol=1e-6)


def test_pictures_that_unpack_to_more_than_a_frame_may_hold_are_not_unpacked(
    bridge: Running, caplog: pytest.LogCaptureFixture
) -> None:
    game = Game(1)
    game.eyes = [pb.Observation(name=f"eye {number}", compression=1, shape=[4096, 4096, 1]) for number in range(5)]
    with caplog.at_level(logging.ERROR):
        game.play(bridge.port)
    assert "the pictures of a frame have 83886080 numbers; allowed are 67108864" in caplog.text


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
            assert bridge._bridge is not None
            bridge._bridge.settings = replace(bridge._bridge.settings, idle_s=2)  # Only now: its sessions have begun.
            return super().step(orders)

    gone = threading.Event()
    with caplog.at_level(logging.ERROR), running(serve, service.url) as bridge:
        playing = threading.Thread(target=play_on, args=(Mute(2), bridge.port))
        playing.start()
        wait_until(lambda: len(service.sessions) == 2 and all(one.stopped for one in service.sessions.values()))
        gone.set()
        playing.join(30)
    assert "it said nothing for 2 s" in caplog.text
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
import json, sys
from mlagents_envs.environment import UnityEnvironment
env = UnityEnvironment(base_port=int(sys.argv[1]), timeout_wait=60)
env.reset()
((name, spec),) = env.behavior_specs.items()
decisions, _ = env.get_steps(name)
print(json.dumps([seen[0].tolist() for seen in decisions.obs[1:]]))
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
def test_the_game_of_these_tests_plays_with_the_real_trainer_as_well(tmp_path: Path) -> None:
    """So it speaks as Unity does. The package needs an old protobuf: it gets an environment of its own."""
    venv.create(tmp_path, with_pip=True)
    python = str(tmp_path / "bin" / "python")
    needed = ["mlagents-envs==0.28.0", "protobuf<3.21", "numpy<1.24", "setuptools<81"]
    subprocess.run([python, "-m", "pip", "install", "-q", *needed], check=True, timeout=240)
    port = free_port()
    trainer = subprocess.Popen(
        [python, "-c", REAL, str(port)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    game = Game(2)
    game.eyes = [
        eye(random_pixels(4, 5, 3), [4, 5, 3]),
        eye(random_pixels(4, 5, 3), [4, 5, 1]),
        eye(random_pixels(4, 5, 4), [4, 5, 4]),
        eye(random_pixels(4, 5, 6), [4, 5, 2], [0, 0, 0, 1, -1, -1]),
    ]
    try:
        game.play(port)  # It waits until somebody answers.
    finally:
        output, errors = trainer.communicate(timeout=60)
    assert output.endswith("Poles?team=0 (4,) (2,)\n"), errors
    for seen, told in zip(json.loads(output.splitlines()[-2]), game.eyes, strict=True):
        ours = read_pictures(told.pngs, told.shape, told.channel_mapping)
        np.testing.assert_allclose(seen, ours, rtol=1e-5)
    assert game.falls >= 2
