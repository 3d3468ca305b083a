"""Who sits on a seat answers its session; the seat's score goes to the match, and all of it moves with the game."""

from collections.abc import Callable
from typing import Any, cast

import pytest

from app.agents.agent import Agent, AgentContext
from app.agents.league_agent import LeagueAgent
from app.errors import AgentError, BadPayloadError, BadRequestError, LeagueError, SnapshotError
from app.league.matches import ABORTED, Match, Result, Side
from app.league.seats import GameMatches, seating
from app.seeding import Draws
from app.sessions.blackboard import Board
from app.sessions.game import Game
from app.sessions.session import EndCause, SessionAgent
from app.types import Purpose, StepKind
from app.wire.payload import JsonCodec, Payload, codec_of

MATCH = Match(
    "league-1",
    (Side("main", 1, frozen=False, learns=True), Side("main:3", 3, frozen=True, learns=False)),
)
SEATS = {place: number for number, place in enumerate(seating(MATCH))}
"""Seats by the place of their sides."""


class Counting(Agent):
    """Answers with its player's name and a number that grows; returns what the stop says."""

    def __init__(self, context: AgentContext, player: str) -> None:
        super().__init__(context)
        self.player, self.ticks = player, 0

    async def on_tick(self, payload: Payload) -> Payload:
        self.ticks += 1
        return f"{self.player} {self.ticks}"

    async def on_episode(self, payload: Payload, cause: EndCause) -> Payload:
        if cause is EndCause.STOP:
            self.context.report(float(cast("dict[str, Any]", payload)["reward"]), self.ticks)
        return None


class Silent(Counting):
    """Reports no return, as scripts do."""

    async def on_episode(self, payload: Payload, cause: EndCause) -> Payload:
        return None


class Replica:
    """Matches of one replica, and who plays."""

    def __init__(self, known: bool = True, plays: type[Counting] = Counting) -> None:
        self.results: list[tuple[str, Result]] = []
        self.known, self.plays = known, plays
        self.asked = 0
        self.games = GameMatches(self._ask, lambda match, result: self.results.append((match, result)))

    async def _ask(self, trainer: str) -> Match:
        if trainer != "main":
            raise LeagueError(f"there is no trainer {trainer!r}")
        self.asked += 1
        return MATCH

    def agent(self, session: str, trainer: str = "main") -> LeagueAgent:
        def make(side: Side, note: Callable[[float], None]) -> SessionAgent:
            if not self.known:
                raise LeagueError(f"nobody here plays {side.player}")
            context = AgentContext(
                session=session, purpose=Purpose.TRAIN, rng=Draws(0), model=None, unroll=None,
                report=lambda returned, _: note(returned), board=Board(Game("g"), session, 1.0),
            )  # fmt: skip
            return self.plays(context, side.player)

        return LeagueAgent(session, trainer, codec_of(Counting), self.games, make, tells=True)


def session(place: int) -> str:
    return f"g-agent-player.{SEATS[place]}"


async def both(replica: Replica) -> tuple[LeagueAgent, LeagueAgent]:
    agents = replica.agent(session(0)), replica.agent(session(1))
    for agent in agents:
        await agent.on_start(None)
    return agents


async def stop(agent: LeagueAgent, **payload: object) -> None:
    await agent.on_episode(cast("Payload", payload), EndCause.STOP)


async def test_each_seat_is_played_by_its_side_and_a_start_tells_who_plays_whom() -> None:
    replica = Replica()
    agent = replica.agent(session(1))
    told = await agent.on_start(None)
    assert told == {
        "match": "league-1", "seat": SEATS[1], "side": 1, "players": ["main", "main:3"], "seats": list(seating(MATCH)),
    }  # fmt: skip
    assert JsonCodec().encode(told, StepKind.START) is not None
    own = replica.agent(session(0))
    await own.on_start(None)
    assert [await one.on_tick(None) for one in (own, agent, agent)] == ["main 1", "main:3 1", "main:3 2"]


async def test_the_match_is_decided_by_the_returns_of_its_seats() -> None:
    replica = Replica()
    own, other = await both(replica)
    await stop(other, reward=1.0)
    assert replica.results == []
    await stop(own, reward=-1.0)
    assert replica.results == [("league-1", Result((-1.0, 1.0)))]


async def test_a_stop_may_say_the_score_itself() -> None:
    replica = Replica()
    own, other = await both(replica)
    await stop(own, reward=5.0, score=0)
    await stop(other, reward=1.0, score=1.5)
    assert replica.results == [("league-1", Result((0.0, 1.5)))]


@pytest.mark.parametrize("score", ["1", True, float("nan"), float("inf"), None])
async def test_a_score_that_is_no_number_is_refused_and_the_stop_may_be_sent_again(score: object) -> None:
    replica = Replica()
    own, _ = await both(replica)
    with pytest.raises(BadPayloadError, match="score is"):
        await stop(own, reward=5.0, score=score)
    assert replica.results == []
    await stop(own, reward=5.0, score=1)


@pytest.mark.parametrize("cause", [EndCause.IDLE, EndCause.RESTARTED, EndCause.SHUTDOWN])
async def test_a_seat_that_the_service_ends_leaves_the_match_without_a_winner(cause: EndCause) -> None:
    replica = Replica()
    own, other = await both(replica)
    await own.on_episode(None, cause)
    await stop(other, reward=1.0)
    assert replica.results == [("league-1", ABORTED)]


async def test_a_game_goes_on_in_another_replica_with_its_match_and_its_scores() -> None:
    here, there = Replica(), Replica()
    own, other = await both(here)
    await own.on_tick(None)
    await stop(other, reward=1.0)
    moved = there.agent(session(0))
    await moved.load_state_dict(own.state_dict())
    assert await moved.on_tick(None) == "main 2"
    await stop(moved, reward=2.0)
    assert (here.results, there.results) == ([], [("league-1", Result((2.0, 1.0)))])


async def test_a_session_that_has_not_begun_moves_as_well() -> None:
    moved = Replica().agent(session(0))
    await moved.load_state_dict(Replica().agent(session(0)).state_dict())
    await moved.on_start(None)
    assert await moved.on_tick(None) == "main 1"


async def test_a_replica_that_cannot_play_a_side_does_not_take_it_in() -> None:
    own, _ = await both(Replica())
    with pytest.raises(SnapshotError, match="cannot go on here: nobody here plays main"):
        await Replica(known=False).agent(session(0)).load_state_dict(own.state_dict())
    with pytest.raises(SnapshotError, match="has match, scores, seat, rewards and agent"):
        await Replica().agent(session(0)).load_state_dict({"ticks": 3})


async def test_a_trainer_that_the_league_does_not_know_is_named() -> None:
    with pytest.raises(AgentError, match="there is no trainer 'exploiter'"):
        await Replica().agent("g-agent-exploiter", "exploiter").on_start(None)


async def test_a_third_session_of_two_is_refused() -> None:
    replica = Replica()
    agents = await both(replica)
    with pytest.raises(BadRequestError, match="has 2; free are none"):
        await replica.agent("g-agent-player").on_start(None)
    del agents


async def test_a_tick_before_the_start_is_refused() -> None:
    with pytest.raises(AgentError, match="has not begun a match"):
        await Replica().agent(session(0)).on_tick(None)


async def test_of_a_player_that_reports_no_return_the_rewards_of_its_payloads_count() -> None:
    here, there = Replica(plays=Silent), Replica(plays=Silent)
    own, other = await both(here)
    for reward in (0.5, float("nan"), True, None, "1"):
        await own.on_tick(cast("Payload", {"reward": reward}))
    moved = there.agent(session(0))
    await moved.load_state_dict(own.state_dict())
    moved_too = there.agent(session(1))
    await moved_too.load_state_dict(other.state_dict())
    await stop(moved, reward=0.25, terminated=True)
    await stop(moved_too, reward=-1, truncated=True)
    assert there.results == [("league-1", Result((0.75, -1.0)))]


async def test_of_a_game_that_was_broken_off_no_rewards_count() -> None:
    replica = Replica(plays=Silent)
    own, _ = await both(replica)
    await stop(own, reward=1.0)
    assert replica.results == [("league-1", ABORTED)]


async def test_one_session_may_say_how_all_seats_did_also_those_that_the_game_core_plays() -> None:
    replica = Replica()
    own = replica.agent(session(0))
    await own.on_start(None)
    scores = [0.0, 0.0]
    scores[SEATS[0]] = 3.0
    await stop(own, reward=1.0, scores=scores)
    assert replica.results == [("league-1", Result((3.0, 0.0)))]


@pytest.mark.parametrize("scores", [[1.0], [1.0, 2.0, 3.0], [1.0, None], 1.0, None, [float("inf"), 0.0]])
async def test_scores_that_fit_no_seats_are_refused_and_the_stop_may_be_sent_again(scores: object) -> None:
    replica = Replica()
    own = replica.agent(session(0))
    await own.on_start(None)
    with pytest.raises(BadPayloadError, match="scores"):
        await stop(own, reward=1.0, scores=scores)
    await stop(own, reward=1.0, scores=[1, 0])
    assert len(replica.results) == 1
