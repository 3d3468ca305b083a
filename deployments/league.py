"""A replica's part in a league: the matches that its games play, and their results on the way."""

import asyncio
import contextlib
import logging
import secrets
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from ray.exceptions import RayError

from app.agents.agent import NO_HYPERPARAMETERS, Agent
from app.agents.blocking import BlockingAgent
from app.agents.league_agent import LeagueAgent
from app.agents.match_agent import MatchAgent
from app.config.active import agents_of
from app.config.league import LeagueConfig
from app.config.root import ExperimentConfig
from app.errors import LeagueError, OverloadedError
from app.league.matches import Match, Result, Side
from app.league.players import UNTRAINED
from app.league.seats import GameMatches
from app.seeding import Draws
from app.sessions.session import SessionAgent
from app.stores.league_client import LeagueClient
from app.types import SessionId, Version
from app.wire.payload import codec_of
from deployments.league_pages import LeaguePages

PATIENCE_S: Final = 2.0
"""Longest wait for a match; then the start is told to come back."""
RETRY_S: Final = 0.5
"""Pause before results are sent again that the league did not take."""
REPORT_TIMEOUT_S: Final = 10.0
"""Longest wait for the league to take results."""
RESULTS_MAX: Final = 10_000
"""Results that wait while the league is away; the oldest ones beyond are given up and counted, and their matches end
by their time-out."""

_log = logging.getLogger(__name__)


def nobody(returned: float) -> None:
    """Tells nobody of an episode's return."""


@dataclass(frozen=True, slots=True)
class Part:
    """How an agent takes part in a game."""

    learns: bool = True
    """Whether its rows are learned from, and its returns are those of training."""
    frozen: Version | None = None
    """Version that plays all of the game; None: the trainer's."""
    note: Callable[[float], None] = nobody
    """Takes the return of each finished episode."""
    hyperparameters: Mapping[str, float] = field(default_factory=lambda: NO_HYPERPARAMETERS)
    """Of the learning period that it plays in."""


WHOLE: Final = Part()
"""The part of an agent without a league."""

Play = Callable[[str, SessionId, Part], SessionAgent]
"""Makes an agent by its name and the id of its session."""
AgentClasses = Mapping[str, type[Agent] | type[BlockingAgent]]


class ReplicaLeague:
    """Seats sessions in matches, and reports how these end; a result is sent until the league has taken it."""

    def __init__(
        self, config: ExperimentConfig, league: LeagueConfig, client: LeagueClient, counts: Counter[str]
    ) -> None:
        """Keeps who plays whom.

        Args:
          config: With the components of its mode.
          league: Its league.
          client: Reaches it.
          counts: The replica's counters.
        """
        self._agents = {player.trainer: _learning_agent(config, player.trainer) for player in league.players.values()}
        """By trainer: who plays its model."""
        self._trainers = {agent: trainer for trainer, agent in self._agents.items()}
        self._seats = league.seats
        self._whole_matches = league.sessions == "match"
        self._evaluation_share = league.evaluation_share
        self._draws = Draws(secrets.randbits(63))
        self._client = client
        self._counts = counts
        self._matches = GameMatches(self._ask, self._report)
        self._results: OrderedDict[str, Result] = OrderedDict()
        self._some = asyncio.Event()
        self._sending = asyncio.Lock()

    def seats(self, name: str) -> bool:
        """Returns whether a session that names an agent takes a seat in a match."""
        return name in self._trainers

    def agent(self, name: str, classes: AgentClasses, session: SessionId, play: Play) -> LeagueAgent | MatchAgent:
        """Returns the agent of a session that takes a seat, or all of a match.

        Args:
          name: Agent that the session names; the match is for the player whom its trainer has.
          classes: Of the agents that play here.
          session: The session's id.
          play: Makes who answers.
        """
        trainer, codec = self._trainers[name], codec_of(classes[name])
        json = getattr(classes[name], "codec", "json") == "json"

        def seat(seated: SessionId) -> LeagueAgent:
            def make(side: Side, note: Callable[[float], None]) -> SessionAgent:
                plays = self.agent_of(side)
                if plays not in classes:
                    raise LeagueError(
                        f"player {side.player} is played by agent {plays!r}; here play {', '.join(sorted(classes))}"
                    )
                hyperparameters = side.hyperparameters or NO_HYPERPARAMETERS
                return play(plays, seated, Part(side.learns, version_of(side), note, hyperparameters))

            tells = json and not self._whole_matches
            return LeagueAgent(seated, trainer, codec, self._matches, make, tells=tells)

        if not self._whole_matches:
            return seat(session)
        return MatchAgent(session, trainer, codec, self._matches, seat, self._plays)

    def _plays(self, side: Side) -> bool:
        return side.agent is not None or side.trainer in self._agents

    def agent_of(self, side: Side) -> str:
        """Returns the agent that plays a side.

        Raises:
          LeagueError: Nobody here does.
        """
        if side.agent is not None:
            return side.agent
        if side.trainer not in self._agents:
            raise LeagueError(f"player {side.player} is played by the game core: its seats have no sessions")
        return self._agents[side.trainer]

    def pages(self) -> LeaguePages:
        """Returns what shows the league."""
        return LeaguePages(self._client, self.agent_of, version_of)

    async def run(self) -> None:
        """Sends results for as long as it runs."""
        while True:
            await self._some.wait()
            await self.flush()
            if self._results:
                await asyncio.sleep(RETRY_S)

    async def flush(self) -> None:
        """Sends the results that wait; what is not taken is sent the next time, and counts once."""
        async with self._sending:
            results = dict(self._results)
            if not results:
                self._some.clear()
                return
            try:
                async with asyncio.timeout(REPORT_TIMEOUT_S), asyncio.TaskGroup() as group:
                    for match, result in results.items():
                        group.create_task(self._send(match, result))
            except* (RayError, TimeoutError) as errors:
                error = errors.exceptions[0]
                _log.warning("the league does not take %d results, sending them again: %s", len(results), error)

    async def _send(self, match: str, result: Result) -> None:
        try:
            reply = await self._client.report(match, result)
        except LeagueError as error:  # It will never be taken; the match ends by its time-out.
            _log.error("the league refuses the result of match %s: %s", match, error)
            self._counts["matches_refused"] += 1
        else:
            self._counts[f"matches_{reply}"] += 1
        self._results.pop(match, None)

    async def _ask(self, trainer: str) -> Match:
        try:
            async with asyncio.timeout(PATIENCE_S):
                if self._draws.random() < self._evaluation_share:
                    with contextlib.suppress(LeagueError):  # There are not two frozen players yet.
                        return await self._client.next_evaluation(self._seats)
                return await self._client.next_of(trainer, self._seats)
        except (RayError, TimeoutError) as error:
            raise OverloadedError(f"the league gave no match within {PATIENCE_S:g} s; start again") from error

    def _report(self, match: str, result: Result) -> None:
        self._results[match] = result
        self._some.set()
        if len(self._results) > RESULTS_MAX:
            self._results.popitem(last=False)
            self._counts["matches_forgotten"] += 1


def _learning_agent(config: ExperimentConfig, trainer: str) -> str:
    """Returns the agent whose games a trainer learns from; another that asks its model, where there is none."""
    settings = config.trainers[trainer]
    buffers = {one.buffer for one in settings.inputs}
    agents = agents_of(config, settings.model)
    return next((name for name in agents if config.agents[name].buffer in buffers), agents[0])


def version_of(side: Side) -> Version | None:
    """Returns the version that a side plays; None for the trainer's newest, or for an agent without weights.

    Who is about to begin anew with untrained weights plays the newest ones until its trainer has published those.

    Raises:
      LeagueError: Its weights are no clone of the trial.
    """
    if side.weights is None or side.weights == UNTRAINED:
        return None
    return side.weights.version(side.player)
