"""Seats by the league's word, and results that are sent until it has taken them."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest
from ray.exceptions import RayActorError

from app.agents.agent import Agent, AgentContext
from app.agents.league_agent import LeagueAgent
from app.agents.match_agent import MatchAgent
from app.agents.random_agent import RandomAgent
from app.config.active import active
from app.config.load import load
from app.errors import AgentError, LeagueError, OverloadedError
from app.league.matches import Match, Reply, Result, Side
from app.league.players import UNTRAINED, Weights
from app.models.lineage import frozen_version
from app.seeding import Draws
from app.sessions.blackboard import Board
from app.sessions.game import Game
from app.sessions.session import EndCause, SessionAgent
from app.types import Purpose, SessionId
from app.wire.payload import Payload
from deployments import league as module
from deployments.league import Part, ReplicaLeague

if TYPE_CHECKING:
    from app.stores.league_client import LeagueClient

LEAGUE = Path(__file__).parents[2] / "configs" / "league.yaml"
OWN = Side("main", 1, frozen=False, learns=True, trainer="main")
HASH = "00000000002a" + "0" * 52


class Client:
    """A league that is away for the first reports, and hands out the sides that it is told."""

    def __init__(self, *sides: Side, away: int = 0) -> None:
        self.sides = sides or (OWN, OWN)
        self.away = away
        self.trainers: list[str] = []
        self.evaluations = 0
        self.results: dict[str, Result] = {}
        self.reports = 0
        self.silent = False

    async def next_of(self, trainer: str, seats: Sequence[int]) -> Match:
        if self.silent:
            await asyncio.Future()
        self.trainers.append(trainer)
        return Match(f"l-{len(self.trainers)}", self.sides)

    async def next_evaluation(self, seats: Sequence[int]) -> Match:
        self.evaluations += 1
        raise LeagueError("an evaluation needs two frozen players")

    async def report(self, match: str, result: Result) -> Reply:
        self.reports += 1
        if self.reports <= self.away:
            raise RayActorError
        if "refused" in match:
            raise LeagueError("it has other sides")
        counted = match not in self.results
        self.results[match] = result
        return Reply.COUNTED if counted else Reply.DUPLICATE


class Player(Agent):
    """Returns what the stop says."""

    async def on_tick(self, payload: Payload) -> Payload:
        return None

    async def on_episode(self, payload: Payload, cause: EndCause) -> Payload:
        self.context.report(float(cast("int", payload)), 1)
        return None


def replica(client: Client, *changes: str) -> tuple[ReplicaLeague, Counter[str]]:
    config, counts = active(load(LEAGUE, list(changes))), Counter[str]()
    assert config.league is not None
    return ReplicaLeague(config, config.league, cast("LeagueClient", client), counts), counts


def seated(
    league: ReplicaLeague, session: str, name: str = "player"
) -> tuple[LeagueAgent | MatchAgent, list[tuple[str, Part]]]:
    """Returns the agent of a session, and who will have played there in which part."""
    played: list[tuple[str, Part]] = []

    def play(plays: str, its: SessionId, part: Part) -> SessionAgent:
        played.append((plays, part))
        context = AgentContext(
            session=its, purpose=Purpose.TRAIN, rng=Draws(0), model=None, unroll=None,
            report=lambda returned, _: part.note(returned), board=Board(Game("g"), session, 1.0),
        )  # fmt: skip
        return Player(context)

    classes = {"player": Player, "exploiter": Player, "script": RandomAgent}
    return league.agent(name, classes, session, play), played


async def play(league: ReplicaLeague, game: str, *returns: float) -> None:
    agents = [seated(league, f"{game}-agent-player.{seat}")[0] for seat in range(len(returns))]
    for agent in agents:
        await agent.on_start(None)
    for agent, returned in zip(agents, returns, strict=True):
        await agent.on_episode(returned, EndCause.STOP)


async def test_agents_of_learning_players_take_seats_and_others_do_not() -> None:
    league, _ = replica(Client())
    assert [league.seats(name) for name in ("player", "exploiter", "script")] == [True, True, False]


async def test_the_agent_that_a_session_names_says_whose_match_it_is() -> None:
    client = Client()
    league, _ = replica(client, "league.evaluation_share=0")
    for name in ("player", "exploiter"):
        await seated(league, f"{name}s-agent-{name}", name)[0].on_start(None)
    assert client.trainers == ["main", "exploiter"]


@pytest.mark.parametrize(
    ("side", "plays", "part"),
    [
        (OWN, "player", (True, None)),
        (Side("exploiter", 1, frozen=False, learns=False, trainer="exploiter"), "exploiter", (False, None)),
        (
            Side("main:3", 3, frozen=True, learns=False, trainer="main", weights=Weights("clones/x", HASH)),
            "player",
            (False, frozen_version(HASH)),
        ),
        (Side("script", 0, frozen=True, learns=False, agent="script"), "script", (False, None)),
        (Side("main", 2, frozen=False, learns=True, trainer="main", weights=UNTRAINED), "player", (True, None)),
    ],
)
async def test_a_side_is_played_by_its_agent_with_its_weights(
    side: Side, plays: str, part: tuple[bool, object]
) -> None:
    league, _ = replica(Client(side, side), "league.evaluation_share=0")
    agent, played = seated(league, "g-agent-player")
    await agent.on_start(None)
    ((name, given),) = played
    assert (name, (given.learns, given.frozen)) == (plays, part)


@pytest.mark.parametrize(
    ("side", "told"),
    [
        (Side("old", 0, frozen=True, learns=False, agent="elder"), "played by agent 'elder'; here play exploiter"),
        (
            Side("old", 0, frozen=True, learns=False, agent="player", weights=Weights("models:/x@y")),
            "plays models:/x@y, which is no clone",
        ),
        (Side("human", 0, frozen=True, learns=False), "human is played by the game core: its seats have no sessions"),
    ],
)
async def test_a_side_that_nobody_can_play_here_is_named(side: Side, told: str) -> None:
    league, _ = replica(Client(side, side), "league.evaluation_share=0")
    with pytest.raises(AgentError, match=told):
        await seated(league, "g-agent-player")[0].on_start(None)


async def test_without_two_frozen_players_a_match_is_one_of_training() -> None:
    client = Client()
    league, _ = replica(client, "league.evaluation_share=0.999999")
    await seated(league, "g-agent-player")[0].on_start(None)
    assert (client.evaluations, client.trainers) == (1, ["main"])


async def test_a_league_that_does_not_answer_asks_game_cores_to_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE_S", 0.01)
    client = Client()
    client.silent = True
    league, _ = replica(client, "league.evaluation_share=0")
    with pytest.raises(OverloadedError, match="no match within"):
        await seated(league, "g-agent-player")[0].on_start(None)


async def test_results_are_sent_until_the_league_has_taken_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RETRY_S", 0.001)
    client = Client(away=3)
    league, counts = replica(client, "league.evaluation_share=0")
    running = asyncio.create_task(league.run())
    await play(league, "one", 1.0, 1.0)
    async with asyncio.timeout(10):
        while not client.results:  # noqa: ASYNC110  # The league's side has no event.
            await asyncio.sleep(0.001)
    running.cancel()
    await asyncio.wait([running], timeout=10)
    assert client.results == {"l-1": Result((1.0, 1.0))}
    assert counts == {"matches_counted": 1}


async def test_the_last_results_go_before_the_replica_does() -> None:
    client = Client()
    league, counts = replica(client, "league.evaluation_share=0")
    for game in ("one", "two"):
        await play(league, game, 1.0, 0.0)
    await league.flush()
    await league.flush()
    assert len(client.results) == client.reports == counts["matches_counted"] == 2


async def test_a_result_that_is_refused_is_counted_and_holds_up_no_other() -> None:
    client = Client()
    league, counts = replica(client, "league.evaluation_share=0")
    league._report("refused-1", Result((1.0,)))
    league._report("l-2", Result((1.0, 0.0)))
    await league.flush()
    assert counts == {"matches_refused": 1, "matches_counted": 1}


async def test_results_that_wait_for_a_league_that_is_away_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RESULTS_MAX", 5)
    client = Client(away=5)
    league, counts = replica(client, "league.evaluation_share=0")
    for number in range(8):
        league._report(f"l-{number}", Result((1.0, 0.0)))
    await league.flush()
    await league.flush()
    assert sorted(client.results) == [f"l-{number}" for number in range(3, 8)]
    assert (counts["matches_forgotten"], counts["matches_counted"]) == (3, 5)
