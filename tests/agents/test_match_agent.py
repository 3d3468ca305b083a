"""One session plays all seats of a match: each seat as its player, and nothing is played on once one has failed."""

import asyncio
from typing import Any, cast

import pytest

from app.agents.match_agent import MatchAgent
from app.errors import AgentError, BadPayloadError, SnapshotError
from app.league.matches import ABORTED, Result
from app.sessions.session import EndCause
from app.wire.payload import Payload, codec_of

from .test_league_agent import MATCH, SEATS, Counting, Replica

OWN, OTHER = str(SEATS[0]), str(SEATS[1])
"""Seat of the learning player, and of its frozen opponent."""


class Whole:
    """A replica whose sessions play whole matches."""

    def __init__(self, outside: str = "", plays: type[Counting] = Counting) -> None:
        self.replica = Replica(plays=plays)
        self.outside = outside

    def agent(self) -> MatchAgent:
        return MatchAgent(
            "g",
            "main",
            codec_of(Counting),
            self.replica.games,
            self.replica.agent,
            lambda side: side.player != self.outside,
        )

    async def begun(self) -> MatchAgent:
        agent = self.agent()
        await agent.on_start(None)
        return agent


def seats(answer: Payload) -> dict[str, Any]:
    return cast("dict[str, Any]", cast("dict[str, Any]", answer)["seats"])


async def test_every_seat_is_played_by_its_player_and_the_start_tells_who_that_is() -> None:
    whole = Whole()
    agent = whole.agent()
    told = cast("dict[str, Any]", await agent.on_start(None))
    assert (told["match"], told["players"]) == ("league-1", ["main", "main:3"])
    assert [told["players"][side] for side in told["sides"]] == ["main" if seat == OWN else "main:3" for seat in "01"]
    assert seats(await agent.on_tick({"seats": {"0": {}, "1": {}}})) == {OWN: "main 1", OTHER: "main:3 1"}
    assert seats(await agent.on_tick({"seats": {OWN: {}}})) == {OWN: "main 2"}  # By turns.
    assert whole.replica.asked == 1


async def test_the_match_ends_with_the_stop_of_the_session() -> None:
    whole = Whole()
    agent = await whole.begun()
    await agent.on_episode({"seats": {OWN: {"reward": 2.0}, OTHER: {"reward": -2.0}}}, EndCause.STOP)
    assert whole.replica.results == [("league-1", Result((2.0, -2.0)))]


async def test_scores_of_the_stop_decide_also_for_a_side_that_the_game_core_plays() -> None:
    whole = Whole(outside="main:3")
    agent = await whole.begun()
    assert seats(await agent.on_tick({"seats": {OWN: {}}})) == {OWN: "main 1"}
    with pytest.raises(BadPayloadError, match=f"numbers of seats, {OWN};"):
        await agent.on_tick({"seats": {OTHER: {}}})
    scores = [1.0, 0.0] if OWN == "0" else [0.0, 1.0]
    await agent.on_episode({"scores": scores, "seats": {OWN: {"reward": 0.0}}}, EndCause.STOP)
    assert whole.replica.results == [("league-1", Result((1.0, 0.0)))]


async def test_a_session_that_the_service_ends_leaves_the_match_without_a_winner() -> None:
    whole = Whole()
    agent = await whole.begun()
    await agent.on_episode(None, EndCause.IDLE)
    assert whole.replica.results == [("league-1", ABORTED)]


@pytest.mark.parametrize("payload", [None, {}, {"seats": {}}, {"seats": [1]}, {"seats": {"2": {}}}, "tick"])
async def test_a_tick_that_names_no_seat_of_the_match_is_refused_before_anybody_plays(payload: Payload) -> None:
    agent = await Whole().begun()
    with pytest.raises(BadPayloadError, match="seats"):
        await agent.on_tick(payload)
    assert seats(await agent.on_tick({"seats": {"0": {}, "1": {}}})) == {OWN: "main 1", OTHER: "main:3 1"}


class Failing(Counting):
    """Fails at a payload that says so."""

    async def on_tick(self, payload: Payload) -> Payload:
        await asyncio.sleep(0)
        if payload == {"fail": True}:
            raise ValueError("it cannot play that")
        return await super().on_tick(payload)


async def test_once_a_seat_has_failed_nothing_is_played_on() -> None:
    agent = await Whole(plays=Failing).begun()
    with pytest.raises(ValueError, match="cannot play that"):
        await agent.on_tick({"seats": {OWN: {}, OTHER: {"fail": True}}})
    with pytest.raises(AgentError, match=f"seat {OTHER} .* has failed: it cannot play that; start a new game"):
        await agent.on_tick({"seats": {OWN: {}, OTHER: {}}})


async def test_a_match_goes_on_in_another_replica() -> None:
    agent = await Whole().begun()
    await agent.on_tick({"seats": {"0": {}, "1": {}}})
    elsewhere = Whole()
    moved = elsewhere.agent()
    await moved.load_state_dict(agent.state_dict())
    assert seats(await moved.on_tick({"seats": {"0": {}, "1": {}}})) == {OWN: "main 2", OTHER: "main:3 2"}
    await moved.on_episode({"seats": {OWN: {"reward": 1.0}, OTHER: {"reward": 0.0}}}, EndCause.STOP)
    assert elsewhere.replica.results == [(MATCH.id, Result((1.0, 0.0)))]
    with pytest.raises(SnapshotError, match="whole match"):
        await moved.load_state_dict({"match": None})
