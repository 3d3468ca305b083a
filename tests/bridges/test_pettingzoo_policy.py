"""The service plays PettingZoo environments in loops that the user writes."""

from app.bridges.pettingzoo_policy import ParallelPolicy, TurnsPolicy
from app.client.sync import Client
from app.games.tic_tac_toe.environment import TicTacToe
from tests.client.fake_service import FakeService, FakeSession
from tests.client.test_multi_agent import Few


def first_allowed(session: FakeSession) -> int:
    (*_, tick) = session.bodies("tick")
    return int(tick["action_mask"].index(1))


def test_agents_that_act_at_once_come_and_go(service: FakeService, client: Client) -> None:
    env = Few()
    with ParallelPolicy(client, env) as policy:
        for match in range(2):
            actions = policy.begin(*env.reset(seed=match))
            assert actions == {"a": 1, "b": 1}
            while env.agents:
                actions = policy.next(*env.step(actions))
            assert actions == {}
    games = {name.partition("-agent-")[0] for name in service.sessions}
    assert len(games) == 2
    for name, session in service.sessions.items():
        ticks = 2 if name.endswith("-agent-b") else 4
        assert [body["reward"] for body in session.bodies("tick")] == [0.0] + [1.0] * (ticks - 1)
        assert session.bodies("stop")[0] | {"observation": None} == {
            "observation": None, "reward": 1.0, "terminated": True, "truncated": False,
        }  # fmt: skip


def test_agents_that_act_by_turns_see_what_is_allowed(service: FakeService, client: Client) -> None:
    service.agent = first_allowed
    env = TicTacToe()
    with TurnsPolicy(client, env, seats={"*": "player"}) as policy:
        env.reset(seed=3)
        policy.begin()
        for agent in env.agent_iter():
            env.step(policy.next(agent, *env.last()))
    assert {name.partition("-agent-")[2] for name in service.sessions} == {"player", "player.1"}
    ends = [session.bodies("stop")[0] for session in service.sessions.values()]
    assert sorted(end["reward"] for end in ends) == [-1.0, 1.0]
    assert all(end["terminated"] for end in ends)


def test_a_match_that_is_left_ends_for_all_as_truncated(service: FakeService, client: Client) -> None:
    env = Few()
    with ParallelPolicy(client, env) as policy:
        policy.begin(*env.reset(seed=0))
    assert [session.bodies("stop")[0]["truncated"] for session in service.sessions.values()] == [True, True]
