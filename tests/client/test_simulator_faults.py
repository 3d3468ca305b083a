import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from app.client.environments import BadActionError
from app.client.errors import StepFailedError
from app.client.simulator import Transport
from app.types import Purpose

from .counting import action_at, expected_steps, length
from .fake_service import FakeSession, fake_service
from .playing import both_transports, by_seed, run


def lose_once(claim: Callable[[FakeSession], bool]) -> Callable[[FakeSession], bool]:
    seen: list[FakeSession] = []

    def lose(session: FakeSession) -> bool:
        if seen or not claim(session):
            return False
        seen.append(session)
        return True

    return lose


@both_transports
async def test_a_lost_connection_repeats_the_step_with_its_seq(transport: Transport) -> None:
    async with fake_service(action_at) as service:
        service.drop_after, service.drop_before, service.close_after = {3}, {5}, {7}
        result = await run(service, games=1, episodes=2, transport=transport)
    assert [by_seed(service)[seed].steps for seed in (100, 101)] == [expected_steps(100), expected_steps(101)]
    assert len(service.links) == 4
    assert service.repeats > 0
    assert (result.lost_games, result.errors) == (0, 0)


@both_transports
async def test_refusals_for_now_are_retried(transport: Transport) -> None:
    async with fake_service(action_at) as service:
        service.refusals.extend([(503, "draining"), (429, "overloaded"), (429, "overloaded")])
        result = await run(service, games=1, episodes=1, transport=transport)
    assert by_seed(service)[100].steps == expected_steps(100)
    assert len(service.links) == 2  # The draining replica was left.
    assert result.errors == 0


async def test_items_refused_for_now_are_retried_with_those_behind_them() -> None:
    async with fake_service(action_at) as service:
        service.item_refusals.extend(["overloaded", "session_unknown", "draining", "session_unknown"])
        result = await run(service, games=2, episodes=2)
    assert [by_seed(service)[seed].steps for seed in (100, 101)] == [expected_steps(100), expected_steps(101)]
    assert len(service.links) == 2  # The replica that refused was left.
    assert (result.lost_games, result.errors) == (0, 0)


async def test_a_game_without_room_waits_while_the_others_play_to_their_end() -> None:
    async with fake_service(action_at) as service:
        service.room = 1
        result = await run(service, games=3, episodes=4)
    assert [by_seed(service)[seed].steps for seed in (100, 101, 102, 103)] == [
        expected_steps(s) for s in range(100, 104)
    ]
    assert (result.episodes, result.errors) == (4, 0)


async def test_a_start_without_room_is_given_up_when_the_time_is_up() -> None:
    async with fake_service(action_at) as service:
        service.room = 0
        with pytest.raises(StepFailedError, match="overloaded"):
            await run(service, games=2, episodes=2, wait_s=0.2)


async def test_nothing_is_sent_of_a_game_that_never_had_room_when_playing_stops() -> None:
    stop = asyncio.Event()
    async with fake_service(action_at) as service:
        service.room = 2
        playing = asyncio.create_task(run(service, stop, games=3))
        await service.until(lambda: service.ticks > 20)
        stop.set()
        result = await playing
    assert all(session.stopped for session in service.sessions.values())
    assert (result.errors, result.lost_games) == (0, 0)


async def test_a_failed_game_counts_once_though_its_next_step_fails_too() -> None:
    async with fake_service(action_at) as service:
        service.item_refusals.extend(["agent_error", "session_unknown"])
        result = await run(service, games=2, episodes=2)
    assert [by_seed(service)[seed].steps for seed in (100, 101)] == [expected_steps(100), expected_steps(101)]
    assert (result.episodes, result.lost_games, result.errors) == (2, 0, 1)


@both_transports
@pytest.mark.parametrize("kind", ["tick", "stop"])
async def test_a_lost_game_of_a_fixed_number_is_replayed_from_its_seed(transport: Transport, kind: str) -> None:
    async with fake_service(action_at) as service:
        ticks = 2 if kind == "tick" else length(101)
        service.lose = lose_once(
            lambda s: len(s.steps) > ticks and s.bodies("tick")[0]["observation"][0] == 101 and not s.stopped
        )
        result = await run(service, episodes=7, transport=transport)
    sessions = by_seed(service)
    assert {seed: session.steps for seed, session in sessions.items()} == {
        seed: expected_steps(seed) for seed in range(100, 107)
    }
    assert service.lost[0].session not in service.sessions
    assert (result.episodes, result.lost_games, result.errors) == (7, 1, 0)


async def test_training_goes_on_with_a_new_game_after_a_lost_one() -> None:
    stop = asyncio.Event()
    async with fake_service(action_at) as service:
        service.lose = lose_once(lambda session: len(session.steps) == 3)
        running = asyncio.create_task(run(service, stop, games=1, purpose=Purpose.TRAIN))
        await service.until(lambda: sum(session.stopped for session in service.sessions.values()) >= 3)
        stop.set()
        result = await running
    assert result.lost_games == 1
    assert 100 not in by_seed(service)
    assert by_seed(service)[101].steps == expected_steps(101)


async def test_vectorised_training_keeps_to_the_contract_through_ends_and_losses() -> None:
    stop = asyncio.Event()
    async with fake_service(lambda _: 1) as service:
        service.lose = lose_once(lambda session: len(session.steps) == 4)
        running = asyncio.create_task(run(service, stop, env="CartPole-v1", games=8, purpose=Purpose.TRAIN))
        await service.until(lambda: sum(session.stopped for session in service.sessions.values()) >= 20)
        stop.set()
        result = await running
    assert result.lost_games == 1
    assert all(session.stopped for session in service.sessions.values())
    finished = [
        s for s in service.sessions.values() if s.bodies("stop") == [s.steps[-1][2]] and s.steps[-1][2]["terminated"]
    ]
    assert len(finished) == result.episodes
    for session in finished:
        kinds = [kind for kind, _, _ in session.steps]
        ticks = session.bodies("tick")
        assert kinds == ["start", *["tick"] * len(ticks), "stop"]
        assert [body["reward"] for body in ticks] == [0.0] + [1.0] * (len(ticks) - 1)
        assert max(map(abs, ticks[0]["observation"])) <= 0.05
        assert abs(session.steps[-1][2]["observation"][2]) > 0.2094
        assert session.steps[-1][2]["reward"] == 1.0
        assert not session.steps[-1][2]["truncated"]


@both_transports
async def test_stopping_does_not_wait_for_a_silent_service(
    transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.client.simulator.CLOSING_S", 0.1)
    stop = asyncio.Event()

    def fall_silent(session: FakeSession) -> int:
        if session.bodies("tick")[-1]["observation"] == [102, 1]:
            service.silent = True
            stop.set()
        return action_at(session)

    async with fake_service(fall_silent) as service:
        result = await asyncio.wait_for(
            run(service, stop, games=1, seed=102, transport=transport), 8
        )  # A step alone would wait 10 s.
    cut = {"observation": [102, 1], "reward": 0.0, "terminated": False, "truncated": True}  # The tick told the reward.
    assert by_seed(service)[102].steps == [*expected_steps(102)[:3], ("stop", 3, cut)]
    assert result.episodes == 0


@both_transports
async def test_an_error_that_every_game_would_meet_ends_the_run(transport: Transport) -> None:
    async with fake_service() as service:
        service.refusals.extend([(422, "bad_payload")] * 3)
        with pytest.raises(StepFailedError, match=r"bad_payload \(422\): by script"):
            await run(service, transport=transport)


async def test_a_service_that_loses_every_game_ends_the_run() -> None:
    async with fake_service() as service:
        service.lose = lambda session: len(session.steps) == 2
        with pytest.raises(StepFailedError, match="session_unknown"):
            await run(service, episodes=3)
    assert len(service.lost) == 30


@pytest.mark.parametrize("action", [None, 4, -1, "1", 0.5])
async def test_an_action_outside_the_space_ends_the_run(action: Any) -> None:
    async with fake_service(lambda _: action) as service:
        with pytest.raises(BadActionError, match=r"allows 0 to 3"):
            await run(service)
