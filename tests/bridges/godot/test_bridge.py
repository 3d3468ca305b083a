"""A game of Godot RL Agents plays with the service."""

import logging
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.bridges.godot.frames import MAX_FRAME_BYTES
from app.bridges.godot.server import serve
from app.errors import PortInUseError
from deployments.port import free_port
from tests.bridges.running import Running, running
from tests.client.fake_service import FakeService

from .game import Game, receive, send


@pytest.fixture
def bridge(service: FakeService) -> Iterator[Running]:
    with running(serve, service.url, episodes=4) as made:
        yield made


def test_its_agents_play_to_the_end_and_their_rewards_arrive(service: FakeService, bridge: Running) -> None:
    game = Game(2)
    game.play(bridge.port)
    result = bridge.result()
    assert result.episodes == 4
    assert [frame["type"] for frame in game.frames[:3]] == ["handshake", "env_info", "reset"]
    assert game.frames[3] == {"type": "action", "action": [{"push": 1}, {"push": 1}]}
    assert game.frames[-1] == {"type": "close"}
    over = [session for session in service.sessions.values() if session.bodies("stop")[0]["terminated"]]
    assert len(over) == 4
    for session in over:
        assert len(session.bodies("tick")[0]["observation"]) == 4
        assert [tick["reward"] for tick in session.bodies("tick")[1:]] == [1.0] * (len(session.bodies("tick")) - 1)
        assert session.bodies("stop")[0]["reward"] == 1.0
    assert result.mean_return == sum(len(session.bodies("tick")) for session in over) / 4
    assert all(session.stopped for session in service.sessions.values())


def test_games_that_end_in_the_same_frame_all_count(service: FakeService) -> None:
    game = Game(2)
    game.seeds = [1, 1]
    with running(serve, service.url, episodes=1) as bridge:
        game.play(bridge.port)
    assert bridge.result().episodes == 2
    assert bridge.result().mean_return == len(game.frames[3:-1])


def test_several_parts_have_names_and_pictures_are_bytes(service: FakeService) -> None:
    with running(serve, service.url, episodes=1, seats={"*": "player"}) as bridge:
        Game(1, pictures=True).play(bridge.port)
    session = next(iter(service.sessions.values()))
    assert session.session.endswith("-agent-player")
    seen = session.bodies("tick")[0]["observation"]
    assert seen.keys() == {"obs", "camera_2d"}
    assert seen["camera_2d"] == [[[0], [1]], [[254], [255]]]


def test_a_game_that_leaves_ends_as_truncated_and_the_next_one_plays(service: FakeService, bridge: Running) -> None:
    with socket.create_connection(("127.0.0.1", bridge.port), 10) as link:
        whole, game = link.makefile("rb"), Game(1)
        receive(whole)
        send(link, {"type": "env_info", **game.on_env_info(receive(whole))})
        send(link, {"type": "reset", **game.on_reset(receive(whole))})
        assert receive(whole)["type"] == "action"
        whole.close()
    Game(2).play(bridge.port)
    assert bridge.result().episodes == 4
    first = next(iter(service.sessions.values()))
    assert first.bodies("stop") == [{"reward": 0.0, "terminated": False, "truncated": True}]


SEEN, DONE = {"obs": {"size": [4], "space": "box"}}, {"push": {"size": 2, "action_type": "discrete"}}
INFO = {"type": "env_info", "n_agents": 1, "observation_space": SEEN, "action_space": DONE}
BAD = [
    ({"type": "reset"}, "expected is an object of the type 'env_info'"),
    ("words", "expected is an object of the type 'env_info'"),
    (INFO | {"n_agents": 0}, "n_agents is 0; allowed are 1 to 10000"),
    (INFO | {"action_space": None}, "action_space is None; allowed is an object of spaces"),
    (INFO | {"action_space": {"a": {"size": 2, "action_type": "words"}}}, "allowed are discrete and continuous"),
    (INFO | {"observation_space": {"obs": {"size": 4, "space": "box"}}}, "observation space 'obs' is"),
    (INFO | {"observation_space": [SEEN] * 2}, "observation_space is"),
    (INFO | {"agent_policy_names": []}, "allowed is a name for each of 1 agents"),
]


@pytest.mark.parametrize(("answer", "message"), BAD)
def test_what_is_no_game_is_told_and_closed(
    bridge: Running, caplog: pytest.LogCaptureFixture, answer: object, message: str
) -> None:
    with caplog.at_level(logging.ERROR), socket.create_connection(("127.0.0.1", bridge.port), 10) as link:
        send(link, answer)
        while link.recv(2**16):  # Until it is closed.
            pass
    assert message in caplog.text


def test_a_frame_that_is_too_large_is_refused_before_it_is_read(
    bridge: Running, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR), socket.create_connection(("127.0.0.1", bridge.port), 10) as link:
        link.sendall((MAX_FRAME_BYTES + 1).to_bytes(4, "little"))
        while link.recv(2**16):
            pass
    assert f"a frame of {MAX_FRAME_BYTES + 1} bytes" in caplog.text


def test_a_port_that_is_taken_is_told(service: FakeService, bridge: Running) -> None:
    with running(serve, service.url, port=bridge.port) as second, pytest.raises(PortInUseError, match="another --port"):
        second.result()


REAL = """
import sys
from godot_rl.core.godot_env import GodotEnv
env = GodotEnv(port=int(sys.argv[1]))
env.reset()
over = 0
while over < 2:
    _, _, done, _, _ = env.step([[1, 1]])
    over += sum(done)
env.close()
"""


@pytest.mark.slow
def test_the_game_of_these_tests_plays_with_the_real_trainer_as_well(tmp_path: Path) -> None:
    """So it speaks as Godot does: ``pip install --no-deps godot-rl`` brings the trainer's side."""
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(tmp_path), "godot-rl==0.8.2"]
    subprocess.run(pip, check=True, timeout=150)
    port = free_port()
    env = os.environ | {"PYTHONPATH": str(tmp_path)}
    trainer = subprocess.Popen(
        [sys.executable, "-u", "-c", REAL, str(port)], env=env, stdout=subprocess.PIPE, text=True
    )
    assert trainer.stdout is not None
    while "waiting for remote" not in (line := trainer.stdout.readline()):
        assert line
    game = Game(2)
    end_s = time.monotonic() + 20
    while True:  # It says that it waits just before it listens.
        try:
            game.play(port)
            break
        except ConnectionRefusedError:
            assert time.monotonic() < end_s
    assert trainer.wait(30) == 0
    assert [frame["type"] for frame in game.frames[:3]] == ["handshake", "env_info", "reset"]
    assert game.frames[3] == {"type": "action", "action": [{"push": 1}, {"push": 1}]}
    assert game.frames[-1] == {"type": "close"}
