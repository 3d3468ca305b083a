"""One service, and the games of others: each plays through its bridge with its own client."""

from collections.abc import Iterator

import gymnasium as gym
import pytest

from app.bridges.dm_env_policy import DmEnvPolicy
from app.bridges.godot.server import serve as godot
from app.bridges.gymnasium_policy import EnvPolicy, VectorPolicy
from app.bridges.pettingzoo_policy import ParallelPolicy
from app.bridges.rllink.server import rllink
from app.bridges.rllink.weights import NewestWeights
from app.bridges.unity.server import serve as unity
from app.client.sync import Client
from tests.bridges.dm_games import Catch
from tests.bridges.godot.game import Game
from tests.bridges.rllink.real import NAMES, external_client, rllib_config
from tests.bridges.running import running
from tests.bridges.two_poles import TwoPoles
from tests.bridges.unity.game import Game as Poles

from .service import Cluster, Service, wait_until

pytestmark = pytest.mark.ray

TOLD = (
    "agents.told.factory=app.agents.told_agent:ToldAgent",
    "agents.told.model=main",
    "agents.told.buffer=rollouts",
    "actors.main.agents=[player,told]",
)

LAST_FRAME = (2, 3)
"""Games that two agents have played when two were wanted: both may end in the last frame."""


@pytest.fixture(scope="module")
def service(cluster: Cluster) -> Iterator[Service]:
    with Service(cluster, "bridges", *TOLD) as running_service:
        running_service.publish(seed=1)
        yield running_service


def test_games_and_loops_of_others_play_with_one_service(service: Service) -> None:
    with running(godot, service.url, seats={"*": "player"}, episodes=2) as bridge:
        Game(2).play(bridge.port)
        assert bridge.result().episodes in LAST_FRAME
    with running(unity, service.url, episodes=2) as bridge:
        Poles(2).play(bridge.port)
        assert bridge.result().episodes in LAST_FRAME
    with Client(service.url, purpose="train") as client:
        env, dm_game = gym.make("CartPole-v1"), Catch()
        with EnvPolicy(client, env) as policy:
            action = policy.begin(*env.reset(seed=1))
            while action is not None:
                action = policy.next(*env.step(action))
            assert policy.policy_version == service.status()["versions"]["main"]
        envs = gym.make_vec("CartPole-v1", num_envs=4)
        with VectorPolicy(client, envs) as many:
            actions = many.begin(*envs.reset(seed=1))
            for _ in range(40):
                actions = many.next(*envs.step(actions))
        match = TwoPoles()
        with ParallelPolicy(client, match, seats={"*": "player"}) as several:
            chosen = several.begin(*match.reset(seed=1))
            while match.agents:
                assert set(chosen) == set(match.agents)
                chosen = several.next(*match.step(chosen))
        with DmEnvPolicy(client, dm_game) as dm_policy:
            action = dm_policy.next(dm_game.reset())
            while action is not None:
                action = dm_policy.next(dm_game.step(action))
    assert service.status()["counts"]["ticks_train"] > 50


def test_rllibs_external_client_acts_by_itself_and_its_episodes_are_learned_from(service: Service) -> None:
    buffer = service.trial.buffer("rollouts")
    before = buffer.stats().inserted
    weights = NewestWeights(service.url, "main", NAMES, wait_s=30)
    with running(rllink(weights, rllib_config()), service.url, seats={"*": "told"}, episodes=6) as bridge:
        output = external_client(bridge)
        assert bridge.result().episodes >= 6, output
    wait_until(lambda: buffer.stats().inserted >= before + 64, "rows reach the buffer")
