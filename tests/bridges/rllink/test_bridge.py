"""A client of RLlink gets weights, and what it plays reaches the service."""

import logging
import socket
from typing import Any, BinaryIO

import msgpack
import msgpack_numpy
import numpy as np
import pytest

from app.bridges.errors import BridgeError
from app.bridges.rllink.server import rllink
from app.bridges.rllink.weights import renamed
from app.client.result import SimulationResult
from app.games.cartpole.model import build
from app.models.module import to_arrays
from app.types import Version
from tests.bridges.running import running
from tests.client.fake_service import FakeService

from .real import NAMES, external_client, rllib_config
from .test_episodes import buffer, episode


class Fixed:
    """Has weights, a newer version each time it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    async def newest(self) -> tuple[Version, dict[str, Any]]:
        self.asked += 1
        return Version(1, self.asked), {"w": np.full(2, self.asked, np.float32)}

    async def close(self) -> None:
        pass


class Talk:
    def __init__(self, link: socket.socket) -> None:
        self.link, self.whole = link, link.makefile("rb")

    def send(self, kind: str, **fields: Any) -> None:
        body = msgpack.packb({"type": kind, **fields}, default=msgpack_numpy.encode, use_bin_type=True)
        self.link.sendall(str(len(body)).zfill(8).encode() + body)

    def receive(self) -> Any:
        whole: BinaryIO = self.whole
        header = whole.read(8)
        return header and msgpack.unpackb(whole.read(int(header)), raw=False, object_hook=msgpack_numpy.decode)


def test_a_client_plays_and_each_action_names_the_weights_that_it_was_drawn_from(service: FakeService) -> None:
    service.agent = lambda _: None
    with (
        running(rllink(Fixed(), b"pickled"), service.url, seats={"*": "told"}, episodes=1) as bridge,
        socket.create_connection(("127.0.0.1", bridge.port), 10) as link,
    ):
        talk = Talk(link)
        talk.send("PING")
        assert talk.receive() == {"type": "PONG"}
        talk.send("GET_CONFIG")
        assert talk.receive() == {"type": "SET_CONFIG", "config": b"pickled"}
        talk.send("GET_STATE")
        state = talk.receive()["state"]
        assert state["rl_module"]["w"].tolist() == [1, 1]
        assert state["weights_seq_no"] == 2
        talk.send("EPISODES_AND_GET_STATE", episodes=[episode(is_terminated=False)], timesteps=2)
        assert talk.receive()["state"]["rl_module"]["w"].tolist() == [2, 2]
        last = episode(
            observations=buffer([np.full(4, 2.0), np.full(4, 3.0)]), actions=buffer([1]), rewards=buffer([0.25]),
            extra_model_outputs={"action_logp": buffer([-1.0])},
        )  # fmt: skip
        talk.send("EPISODES", episodes=[last], timesteps=1)
        assert bridge.result().mean_return == 1.75
    (session,) = service.sessions.values()
    assert session.session.endswith("-agent-told")
    ticks = session.bodies("tick")
    assert [(tick["action"], tick["log_prob"], tick["reward"], tick["version"]) for tick in ticks] == [
        (1, -0.5, 0.0, "1.1"), (0, -0.25, 1.0, "1.1"), (1, -1.0, 0.5, "1.2"),
    ]  # fmt: skip
    assert session.bodies("stop") == [{"observation": [3] * 4, "reward": 0.25, "terminated": True, "truncated": False}]


def told(service: FakeService, whole: dict[str, Any], timesteps: int) -> SimulationResult:
    """Returns what a bridge tells of one episode that a client has played and sent."""
    with (
        running(rllink(Fixed(), None), service.url, episodes=1) as bridge,
        socket.create_connection(("127.0.0.1", bridge.port), 10) as link,
    ):
        talk = Talk(link)
        talk.send("GET_STATE")
        talk.receive()
        talk.send("EPISODES", episodes=[whole], timesteps=timesteps)
        return bridge.result()


def test_long_episodes_are_sent_in_several_requests(service: FakeService) -> None:
    service.agent = lambda _: None
    count = 50
    whole = episode(
        observations=buffer(np.zeros((count + 1, 4))), actions=buffer([1] * count), rewards=buffer([1.0] * count),
        extra_model_outputs={"action_logp": buffer([-0.5] * count)},
    )  # fmt: skip
    assert told(service, whole, count).mean_return == count
    (session,) = service.sessions.values()
    assert len(session.bodies("tick")) == count
    assert session.stopped


def test_an_episode_whose_session_is_lost_goes_on_in_a_new_one(service: FakeService) -> None:
    service.agent = lambda _: None
    service.lose = lambda session: not service.lost and len(session.bodies("tick")) == 2
    whole = episode(
        observations=buffer(np.zeros((5, 4))), actions=buffer([1] * 4), rewards=buffer([1.0, 2.0, 4.0, 8.0]),
        extra_model_outputs={"action_logp": buffer([-0.5] * 4)},
    )  # fmt: skip
    result = told(service, whole, 4)
    assert (result.mean_return, result.episodes) == (15, 1)
    (second,) = service.sessions.values()
    assert [tick["reward"] for tick in second.bodies("tick")] == [0.0, 4.0]
    assert second.bodies("stop")[0]["reward"] == 8.0
    assert result.lost_games == 1


def test_a_client_that_leaves_ends_its_episodes_as_truncated(service: FakeService) -> None:
    service.agent = lambda _: None
    with running(rllink(Fixed(), None), service.url) as bridge:
        with socket.create_connection(("127.0.0.1", bridge.port), 10) as link:
            talk = Talk(link)
            talk.send("GET_STATE")
            talk.receive()
            talk.send("EPISODES_AND_GET_STATE", episodes=[episode(is_terminated=False)], timesteps=2)
            talk.receive()
            talk.whole.close()
        bridge.stop()
    (session,) = service.sessions.values()
    assert session.bodies("stop") == [{"truncated": True}]


@pytest.mark.parametrize(
    ("kind", "fields", "message"),
    [
        ("EPISODES", {"episodes": [episode()]}, "send GET_STATE first"),
        ("GET_CONFIG", {}, "--rllib-config"),
        ("GET_ACTION", {}, "allowed are PING, GET_CONFIG, GET_STATE"),
    ],
)
def test_what_a_client_may_not_send_is_told(
    service: FakeService, caplog: pytest.LogCaptureFixture, kind: str, fields: dict[str, Any], message: str
) -> None:
    with (
        caplog.at_level(logging.ERROR),
        running(rllink(Fixed(), None), service.url) as bridge,
        socket.create_connection(("127.0.0.1", bridge.port), 10) as link,
    ):
        talk = Talk(link)
        talk.send(kind, **fields)
        assert talk.receive() == b""
    assert message in caplog.text


def test_parameters_get_the_clients_names() -> None:
    arrays: Any = {"policy.0.weight": np.ones((2, 2), np.float32)}
    got = renamed(arrays, {"net.weight": "policy.0.weight", "clip": 20.0})
    assert got["net.weight"] is arrays["policy.0.weight"]
    assert got["clip"].tolist() == [20.0]
    assert renamed(arrays, None) is arrays
    with pytest.raises(BridgeError, match=r"the model has no policy.1.weight; allowed are policy.0.weight"):
        renamed(arrays, {"net.weight": "policy.1.weight"})


class CartPole(Fixed):
    """Has the weights of an untrained policy."""

    async def newest(self) -> tuple[Version, dict[str, Any]]:
        version, _ = await super().newest()
        return version, renamed(to_arrays(build()), NAMES)


@pytest.mark.slow
def test_rllibs_own_client_builds_its_module_plays_and_sends_its_episodes(service: FakeService) -> None:
    service.agent = lambda _: None
    with running(rllink(CartPole(), rllib_config()), service.url, episodes=8) as bridge:
        output = external_client(bridge)
        assert bridge.result().episodes >= 8, output
    ended = [session for session in service.sessions.values() if session.bodies("stop")[0].get("terminated")]
    assert len(ended) >= 8
    for session in ended:
        ticks = session.bodies("tick")
        assert {tick["action"] for tick in ticks} <= {0, 1}
        assert all(-20 < tick["log_prob"] < 0 for tick in ticks)
        assert [tick["reward"] for tick in ticks] == [0.0] + [1.0] * (len(ticks) - 1)
    assert len({tick["version"] for session in ended for tick in session.bodies("tick")}) > 1
