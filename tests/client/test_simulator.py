import asyncio

import pytest

from app.client.errors import ServiceUnreachableError
from app.client.result import SimulationResult
from app.client.simulator import Simulation, Transport, play
from app.types import Purpose

from .counting import action_at, expected_return, expected_steps, length
from .fake_service import FakeSession, fake_service
from .playing import both_transports, by_seed, run


@both_transports
async def test_every_step_of_every_game_is_the_contracts(transport: Transport) -> None:
    async with fake_service(action_at) as service:
        service.version = "3.7"
        result = await run(service, episodes=7, transport=transport, version="3.7")
    sessions = by_seed(service)
    assert sorted(sessions) == list(range(100, 107))
    for seed, session in sessions.items():
        assert session.steps == expected_steps(seed, {"model_version": "3.7"})
        assert session.purpose == "evaluate"
    returns = [expected_return(seed) for seed in range(100, 107)]
    expected = SimulationResult(
        env="Counting-v0",
        purpose=Purpose.EVALUATE,
        episodes=7,
        mean_return=sum(returns) / 7,
        min_return=min(returns),
        max_return=max(returns),
        ticks=sum(length(seed) for seed in range(100, 107)),
        seconds=result.seconds,
        ticks_per_s=result.ticks_per_s,
        lost_games=0,
        errors=0,
        policy_version="3.7",
    )
    assert result == expected
    assert service.paths == {f"/{transport}"}


@both_transports
async def test_each_slot_plays_the_games_settled_beforehand(transport: Transport) -> None:
    async with fake_service(action_at) as service:
        await run(service, episodes=7, transport=transport)
    slots: dict[str, list[int]] = {}
    for seed, session in by_seed(service).items():
        slots.setdefault(session.session.rsplit("-", 1)[0], []).append(seed)
    assert sorted(slots.values()) == [[100, 103, 106], [101, 104], [102, 105]]
    links = {link for session in service.sessions.values() for link in session.connections}
    assert len(links) == (1 if transport is Transport.STEPS else 3)


async def test_a_frame_is_one_request_in_which_a_finished_game_makes_room_for_the_next() -> None:
    async with fake_service(action_at) as service:
        await run(service, games=1, episodes=3)
    ticks = sum(length(seed) for seed in range(100, 103))
    assert service.posts == ticks + 1  # Only the last stop has a request of its own.


async def test_more_games_than_episodes_play_each_episode_once() -> None:
    async with fake_service(action_at) as service:
        result = await run(service, games=16, episodes=2)
    assert (sorted(by_seed(service)), result.episodes) == ([100, 101], 2)


async def test_two_runs_of_one_seed_share_observations_but_no_session() -> None:
    async with fake_service(action_at) as first, fake_service(action_at) as second:
        await run(first, episodes=3)
        await run(second, episodes=3)
    assert not first.sessions.keys() & second.sessions.keys()
    assert [s.steps for s in first.sessions.values()] == [s.steps for s in second.sessions.values()]


@both_transports
async def test_what_an_environment_allows_goes_with_its_observation(transport: Transport) -> None:
    def plays(session: FakeSession) -> int:
        mask: list[int] = session.bodies("tick")[-1]["action_mask"]
        return mask.index(1)

    async with fake_service(plays) as service:
        env = "app.games.locks.env:sparring/Locks-v0"
        result = await run(service, env=env, games=2, episodes=2, transport=transport)
    assert result.episodes == 2
    assert all(sum(body["action_mask"]) >= 1 for s in service.sessions.values() for body in s.bodies("tick"))


async def test_box_actions_arrive_as_arrays() -> None:
    async with fake_service(lambda session: [[action_at(session)]]) as service:
        result = await run(service, env="CountingBox-v0", episodes=3)
    assert result.mean_return == sum(expected_return(seed) for seed in (100, 101, 102)) / 3


@both_transports
async def test_stopping_truncates_the_open_games_and_reports_no_reward_twice(transport: Transport) -> None:
    stop = asyncio.Event()
    async with fake_service() as service:
        running = asyncio.create_task(run(service, stop, env="CartPole-v1", games=2, transport=transport))
        await service.until(lambda: service.ticks >= 6)
        stop.set()
        result = await running
    assert all(session.stopped for session in service.sessions.values())
    cut = [session for session in service.sessions.values() if session.steps[-1][2]["truncated"]]
    assert 0 < len(cut) <= 2
    for session in cut:
        ends = session.bodies("tick") + session.bodies("stop")
        assert [body["reward"] for body in ends] == [0.0] + [1.0] * (len(ends) - 1)
        assert not ends[-1]["terminated"]
    assert result.episodes == len(service.sessions) - len(cut)


async def test_the_run_begins_when_the_service_is_ready() -> None:
    async with fake_service(action_at) as service:
        service.not_ready = 3
        result = await run(service, episodes=1)
    assert (service.polls, result.episodes) == (4, 1)


async def test_nobody_at_the_url_is_told_with_what_to_start(unused_port: int) -> None:
    url = f"http://127.0.0.1:{unused_port}"
    with pytest.raises(ServiceUnreachableError, match=rf"{url} after 0.1 s .*serve run serve_config.yaml"):
        await play(Simulation("Counting-v0", url, wait_s=0.1), asyncio.Event())
