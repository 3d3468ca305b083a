"""The service plays Gymnasium environments in loops that the user writes."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from app.bridges.gymnasium_policy import EnvPolicy, VectorPolicy
from app.client.environments import BadActionError
from app.client.errors import BadPayloadError
from app.client.sync import Client
from app.errors import SparringError
from tests.client.fake_service import FakeService


class Counted(gym.Env[Any, Any]):
    """Shows its number and the step; ends by its rules in its third step, or is cut in its second where it is odd."""

    metadata = {"render_modes": []}  # noqa: RUF012  # So Gymnasium has it.
    observation_space = gym.spaces.Box(0, 100, (2,), np.float32)
    action_space: gym.spaces.Space[Any] = gym.spaces.Discrete(3)

    def __init__(self, number: int = 0) -> None:
        self.number, self.tick = number, 0
        self.actions: list[Any] = []

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        self.tick = 0
        return self._seen(), {"action_mask": [True, True, False]}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.tick += 1
        self.actions.append(action)
        odd = self.number % 2 == 1
        return self._seen(), 10.0 + self.tick, not odd and self.tick == 3, odd and self.tick == 2, {}

    def _seen(self) -> Any:
        return np.array([self.number, self.tick], np.float32)


class Nested(Counted):
    action_space = gym.spaces.Dict(
        {"move": gym.spaces.Box(-1, 1, (2,)), "fire": gym.spaces.Tuple([gym.spaces.Discrete(2)])}
    )


def test_a_game_reaches_the_service_from_its_start_to_its_end(service: FakeService, client: Client) -> None:
    env = Counted()
    with EnvPolicy(client, env, {"greedy": True}) as policy:
        action = policy.begin(*env.reset(seed=1))
        while action is not None:
            action = policy.next(*env.step(action))
        assert policy.policy_version == "0.0"
    (session,) = service.sessions.values()
    assert session.steps == [
        ("start", 0, {"greedy": True}),
        ("tick", 1, {"observation": [0, 0], "reward": 0.0, "action_mask": [True, True, False]}),
        ("tick", 2, {"observation": [0, 1], "reward": 11.0}),
        ("tick", 3, {"observation": [0, 2], "reward": 12.0}),
        ("stop", 4, {"observation": [0, 3], "reward": 13.0, "terminated": True, "truncated": False}),
    ]
    assert session.purpose == "train"
    assert env.actions == [1, 1, 1]


def test_a_game_that_is_left_ends_as_truncated(service: FakeService, client: Client) -> None:
    env = Counted()
    with EnvPolicy(client, env) as policy:
        policy.begin(*env.reset())
        policy.begin(*env.reset())
    assert [session.bodies("stop") for session in service.sessions.values()] == [
        [{"reward": 0.0, "terminated": False, "truncated": True}]
    ] * 2


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_a_vector_is_one_request_a_step_and_its_episodes_follow_one_another(
    service: FakeService, client: Client, mode: AutoresetMode
) -> None:
    envs = SyncVectorEnv([lambda: Counted(0), lambda: Counted(1)], autoreset_mode=mode)
    with VectorPolicy(client, envs) as policy:
        actions = policy.begin(*envs.reset(seed=1))
        assert actions.dtype == np.int64
        assert actions.tolist() == [1, 1]
        for _ in range(3):
            actions = policy.next(*envs.step(actions))
        assert service.posts == 4
    first, second, *later = service.sessions.values()
    assert first.bodies("stop") == [{"observation": [0, 3], "reward": 13.0, "terminated": True, "truncated": False}]
    assert second.bodies("stop") == [{"observation": [1, 2], "reward": 12.0, "terminated": False, "truncated": True}]
    assert later[0].bodies("tick")[0]["observation"] == [1, 0]
    assert all(session.bodies("tick")[0]["action_mask"] == [True, True, False] for session in service.sessions.values())
    assert all(session.stopped for session in service.sessions.values())


def test_actions_may_be_nested(service: FakeService, client: Client) -> None:
    service.agent = lambda _: {"move": [0.5, -0.5], "fire": [1]}
    envs = SyncVectorEnv([Nested, Nested])
    with VectorPolicy(client, envs) as policy:
        actions = policy.begin(*envs.reset())
        assert actions["move"].tolist() == [[0.5, -0.5]] * 2
        assert actions["fire"][0].tolist() == [1, 1]
    service.agent = lambda _: {"move": [0.5, -0.5]}
    with (
        EnvPolicy(client, Nested()) as single,
        pytest.raises(BadActionError, match=r"has the parts move, fire|fire, move"),
    ):
        single.begin(*Nested().reset())


def test_a_lost_session_goes_on_in_a_new_one(service: FakeService, client: Client) -> None:
    env = Counted()
    with EnvPolicy(client, env) as policy:
        action = policy.begin(*env.reset())
        service.sessions.clear()
        assert policy.next(*env.step(action)) == 1
        assert policy.lost_sessions == 1
    (session,) = service.sessions.values()
    assert session.bodies("tick") == [{"observation": [0, 1], "reward": 0.0}]


def test_a_service_that_always_loses_its_sessions_is_an_error(service: FakeService, client: Client) -> None:
    service.lose = lambda session: bool(session.steps)
    with EnvPolicy(client, Counted()) as policy, pytest.raises(SparringError, match="lost a session 3 times"):
        policy.begin(*Counted().reset())


def test_what_the_service_refuses_is_told(service: FakeService, client: Client) -> None:
    service.item_refusals.append("bad_payload")
    with EnvPolicy(client, Counted()) as policy, pytest.raises(BadPayloadError):
        policy.begin(*Counted().reset())


def test_an_answer_without_an_action_and_an_action_outside_the_space_are_told(
    service: FakeService, client: Client
) -> None:
    service.agent = lambda _: b"bytes"
    with EnvPolicy(client, Counted()) as policy, pytest.raises(SparringError, match="a tick is answered by"):
        policy.begin(*Counted().reset())
    service.agent = lambda _: 3
    with EnvPolicy(client, Counted()) as policy, pytest.raises(BadActionError, match="allows 0 to 2"):
        policy.begin(*Counted().reset())


def test_a_step_before_the_first_observation_and_a_vector_that_does_not_reset_are_told(client: Client) -> None:
    env = Counted()
    with EnvPolicy(client, env) as policy, pytest.raises(SparringError, match=r"policy\.begin\(\*env\.reset\(\)\)"):
        policy.next(*env.step(1))
    envs = SyncVectorEnv([Counted], autoreset_mode=AutoresetMode.DISABLED)
    with pytest.raises(SparringError, match="allowed are NEXT_STEP and SAME_STEP"):
        VectorPolicy(client, envs)
