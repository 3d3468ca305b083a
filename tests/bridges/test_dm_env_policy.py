"""The service plays dm_env environments, in loops that the user writes and as game cores."""

import dm_env
import numpy as np
import pytest
from dm_env import specs
from gymnasium import spaces

from app.bridges.dm_env_policy import DmEnvPolicy
from app.client.dm_environment import ended_by_rules, make_dm_environment, space_of
from app.client.simulator import Simulation, run_simulation
from app.client.sync import Client
from app.errors import ConfigError
from app.types import Purpose
from tests.client.fake_service import FakeService

from .dm_games import Catch

GAME = "dm_env:tests.bridges.dm_games:Catch"


def test_games_are_played_from_their_first_time_step_to_their_last(service: FakeService, client: Client) -> None:
    env = Catch()
    with DmEnvPolicy(client, env) as policy:
        for _ in range(2):
            action = policy.next(env.reset())
            while action is not None:
                action = policy.next(env.step(action))
    first, second = service.sessions.values()
    assert [tick["reward"] for tick in first.bodies("tick")] == [0.0, 1.0, 1.0]
    assert first.bodies("stop") == [{"observation": [3] * 4, "reward": 1.0, "terminated": True, "truncated": False}]
    assert second.bodies("stop") == [{"observation": [2] * 4, "reward": 1.0, "terminated": False, "truncated": True}]


def test_a_first_time_step_ends_the_game_before(service: FakeService, client: Client) -> None:
    env = Catch()
    with DmEnvPolicy(client, env) as policy:
        policy.next(env.reset())
        policy.next(env.reset())
        assert len(service.sessions) == 2
    assert all(session.bodies("stop")[0]["truncated"] for session in service.sessions.values())


def test_an_environment_is_a_game_core(service: FakeService) -> None:
    result = run_simulation(Simulation(GAME, service.url, games=1, purpose=Purpose.TRAIN, seed=1, episodes=2))
    assert (result.episodes, result.mean_return) == (2, 2.5)
    assert [session.bodies("stop")[0]["truncated"] for session in service.sessions.values()] == [False, True]


def test_a_discount_of_zero_alone_is_an_end_by_the_rules() -> None:
    assert ended_by_rules(dm_env.termination(1.0, 0))
    assert not ended_by_rules(dm_env.truncation(1.0, 0, discount=0.5))
    assert not ended_by_rules(dm_env.transition(1.0, 0, discount=0.0))


def test_specs_become_spaces() -> None:
    assert space_of(specs.DiscreteArray(5)) == spaces.Discrete(5)
    assert space_of(specs.BoundedArray((2,), np.float32, -1, 2)) == spaces.Box(-1, 2, (2,), np.float32)
    assert space_of(specs.BoundedArray((), np.int32, 0, 3)) == spaces.Box(0, 3, (), np.int32)
    nested = space_of({"arm": [specs.Array((1,), np.float64)], "on": specs.Array((), np.uint8)})
    assert nested == spaces.Dict(
        {"arm": spaces.Tuple([spaces.Box(-np.inf, np.inf, (1,), np.float64)]), "on": spaces.Box(0, 255, (), np.uint8)}
    )


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("dm_env:tests.bridges.dm_games:words", "made a str; allowed is a dm_env.Environment"),
        ("dm_env:tests.bridges.dm_games:broken", "cannot make its environment: RuntimeError: no licence"),
        ("dm_env:app.types:UNTRAINED", "is a Version; allowed is what makes an environment"),
    ],
)
def test_what_is_no_environment_is_told(name: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make_dm_environment(name)


def test_an_action_that_is_no_array_is_told() -> None:
    with pytest.raises(ConfigError, match="allowed are arrays of numbers"):
        space_of(specs.StringArray(()))
