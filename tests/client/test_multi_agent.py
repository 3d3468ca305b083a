"""Games of several agents: a session for each, rewards to whom they belong, and games that are played to their end."""

import asyncio
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pettingzoo.test.example_envs.generated_agents_parallel_v0 import parallel_env

from app.client.multi_agent import ByTurns, Simultaneous, make_multi_agent
from app.client.seats import read_seats, seats_text
from app.client.simulator import Simulation, Transport
from app.errors import ConfigError

from .fake_service import FakeService, FakeSession, fake_service
from .playing import run

CONNECT_FOUR = "pettingzoo:app.games.connect_four.environment:ConnectFour"


class Few:
    """Two agents act at once; the second leaves after two ticks, the game ends after four; who did 1 gets a point."""

    possible_agents = ("a", "b")

    def __init__(self) -> None:
        from gymnasium import spaces  # noqa: PLC0415

        self._space = spaces.Discrete(2)

    def action_space(self, agent: str) -> Any:
        return self._space

    def reset(self, seed: int) -> tuple[dict[str, Any], dict[str, Any]]:
        self.agents, self._tick, self._seed = ["a", "b"], 0, seed
        return self._seen(), {agent: {"action_mask": [1, 1]} for agent in self.agents}

    def step(self, actions: dict[str, int]) -> tuple[dict[str, Any], ...]:
        assert set(actions) == set(self.agents)
        self._tick += 1
        seen, rewards = self._seen(), {agent: float(action) for agent, action in actions.items()}
        ended = {agent: self._tick == (2 if agent == "b" else 4) for agent in self.agents}
        infos = {agent: {"action_mask": [1, 1]} for agent in self.agents}
        never = dict.fromkeys(self.agents, False)
        self.agents = [agent for agent in self.agents if not ended[agent]]
        return seen, rewards, ended, never, infos

    def state(self) -> Any:
        return np.array([self._tick], np.float32)

    def _seen(self) -> dict[str, Any]:
        return {agent: np.array([self._seed, self._tick], np.float32) for agent in self.agents}


class Generated(parallel_env):  # type: ignore[misc]  # PettingZoo's tests are untyped.
    """Their agents come and go, for 40 ticks."""

    def __init__(self) -> None:
        super().__init__(max_cycles=40)

    def step(self, actions: Any) -> Any:
        self.num_steps += 1  # It does not count them itself.
        return super().step(actions)


FEW = f"pettingzoo:{__name__}:Few"


def lowest(session: FakeSession) -> int:
    """Plays the first column that takes a stone."""
    mask: list[int] = session.bodies("tick")[-1]["action_mask"]
    return mask.index(1)


def games(service: FakeService) -> dict[str, dict[str, FakeSession]]:
    """Returns the sessions by game and agent."""
    found: dict[str, dict[str, FakeSession]] = defaultdict(dict)
    for name, session in service.sessions.items():
        game, _, agent = name.rpartition("-agent-")
        found[game][agent] = session
    return found


async def test_agents_by_turns_have_sessions_of_their_own_and_their_own_rewards() -> None:
    async with fake_service(lowest) as service:
        result = await run(service, env=CONNECT_FOUR, games=2, episodes=3)
    assert (result.episodes, result.mean_return) == (3, 0.0)
    assert len(games(service)) == 3
    for sessions in games(service).values():
        assert set(sessions) == {"player_0", "player_1"}
        rewards = {}
        for agent, session in sessions.items():
            kinds = [kind for kind, _, _ in session.steps]
            assert kinds == ["start", *["tick"] * (len(kinds) - 2), "stop"]
            (stop,) = session.bodies("stop")
            assert (stop["terminated"], stop["truncated"]) == (True, False)
            assert all(body["reward"] == 0 for body in session.bodies("tick"))
            rewards[agent] = stop["reward"]
        assert rewards == {"player_0": 1, "player_1": -1}  # Whoever fills columns first has four in a line first.


async def test_agents_at_once_leave_when_their_game_has_ended() -> None:
    async with fake_service(lambda session: 1) as service:
        result = await run(service, env=FEW, games=1, episodes=2, scored=frozenset({"a"}))
    assert (result.episodes, result.mean_return, result.ticks) == (2, 4.0, 12)
    for at, sessions in enumerate(games(service).values()):
        seen = {agent: session.bodies("tick") + session.bodies("stop") for agent, session in sessions.items()}
        assert [body["observation"] for body in seen["a"]] == [[100 + at, tick] for tick in range(5)]
        assert [body["observation"] for body in seen["b"]] == [[100 + at, tick] for tick in range(3)]
        assert [body["reward"] for body in seen["b"]] == [0, 1, 1]
        assert seen["a"][0]["action_mask"] == [1, 1]


async def test_an_environment_of_pettingzoo_whose_agents_come_and_go_is_played() -> None:
    spaces = Generated()
    spaces.reset(seed=100)

    def plays(session: FakeSession) -> int:
        return len(session.steps) % 2

    async with fake_service(plays) as service:
        result = await run(service, env=f"pettingzoo:{__name__}:Generated", games=1, episodes=1)
    assert result.episodes == 1
    (sessions,) = games(service).values()
    assert len(sessions) > len(spaces.agents)  # Others have come.
    assert all(session.stopped for session in sessions.values())


async def test_the_state_of_the_whole_game_goes_with_what_an_agent_sees() -> None:
    async with fake_service(lambda session: 0) as service:
        await run(service, env=FEW, games=1, episodes=1, with_state=True)
    (sessions,) = games(service).values()
    seen = [body["observation"] for body in sessions["a"].bodies("tick") + sessions["a"].bodies("stop")]
    assert seen == [{"own": [100, tick], "state": [tick]} for tick in range(5)]


async def test_seats_say_who_plays_for_whom_and_change_with_the_game() -> None:
    seats = ({"player_1": "random"}, {"player_0": "random"})
    async with fake_service(lowest) as service:
        result = await run(
            service, env=CONNECT_FOUR, games=1, episodes=2, seats=seats, scored=frozenset({"player_0", "player_1"})
        )
    assert [set(sessions) for sessions in games(service).values()] == [{"player_0", "random"}, {"random", "player_1"}]
    assert (result.max_return, result.min_return) == (1, -1)  # As first and as second, without the other's.


async def test_one_agent_may_play_for_several_in_sessions_of_its_own() -> None:
    async with fake_service(lowest) as service:
        result = await run(service, env=CONNECT_FOUR, games=1, episodes=2, seats=({"*": "player"},))
    assert result.episodes == 2
    assert [set(sessions) for sessions in games(service).values()] == [{"player", "player.1"}] * 2


async def test_a_game_that_has_lost_an_agent_is_stopped_and_played_again() -> None:
    async with fake_service(lowest) as service:
        service.lose = lambda session: not service.lost and len(session.steps) == 4
        result = await run(service, env=CONNECT_FOUR, games=1, episodes=2)
    assert (result.episodes, result.lost_games) == (2, 1)
    (lost,) = service.lost
    other = next(s for name, s in service.sessions.items() if lost.session[:-1] == name[:-1] and name != lost.session)
    assert other.bodies("stop")[0]["truncated"]
    assert len(service.sessions) == 5


async def test_a_game_with_room_for_one_of_its_agents_waits_for_the_other_while_others_play() -> None:
    async with fake_service(lambda session: 1) as service:
        service.room = 3
        result = await run(service, env=FEW, games=2, episodes=4)
    assert (result.episodes, result.ticks, result.errors) == (4, 24, 0)
    for sessions in games(service).values():
        assert {agent: len(session.bodies("tick")) for agent, session in sessions.items()} == {"a": 4, "b": 2}


async def test_stopping_truncates_the_agents_that_are_due() -> None:
    stop = asyncio.Event()
    async with fake_service(lambda session: 0) as service:
        running = asyncio.create_task(run(service, stop, env=FEW, games=2))
        await service.until(lambda: service.ticks >= 9)
        stop.set()
        await running
    assert all(session.stopped for session in service.sessions.values())


def test_environments_are_told_apart_by_what_they_can_do(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(make_multi_agent(CONNECT_FOUR), ByTurns)
    assert isinstance(make_multi_agent(FEW), Simultaneous)
    with pytest.raises(ConfigError, match="made a PosixPath; allowed are"):
        make_multi_agent("pettingzoo:pathlib:Path")
    with pytest.raises(ConfigError, match="is a str; allowed is what makes an environment"):
        make_multi_agent(f"pettingzoo:{__name__}:CONNECT_FOUR")
    monkeypatch.setattr(Few, "__init__", lambda self: Path("/nowhere").read_text())
    with pytest.raises(ConfigError, match="cannot make its environment: FileNotFoundError"):
        make_multi_agent(FEW)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"env": CONNECT_FOUR, "transport": Transport.STEP}, "take the transport steps"),
        (
            {"env": "CartPole-v1", "seats": ({"a": "b"},)},
            "seats, scored and with_state are of games whose env begins with",
        ),
    ],
)
def test_what_does_not_go_together_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Simulation(url="http://127.0.0.1:1", **changes)


def test_seats_are_pairs() -> None:
    assert read_seats("player_1=random,player_0=main") == {"player_1": "random", "player_0": "main"}
    assert read_seats("") == {}
    assert read_seats(seats_text({"*": "player", "b": "random"})) == {"*": "player", "b": "random"}
    with pytest.raises(ValueError, match="seats are 'player_1'; allowed is agent=player"):
        read_seats("player_1")
