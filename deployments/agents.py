"""Makes the agent of each session of an actor replica, with the model that it asks and the buffer that it fills."""

import asyncio
import logging
import secrets
from collections import OrderedDict
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, cast

from app.agents.agent import Agent, AgentContext
from app.agents.blocking import BlockingAgent, BlockingContext, Offloaded
from app.agents.bridge import on_loop
from app.agents.game_log import About, GameLog
from app.agents.observed import Observed
from app.agents.pace import PacedModel
from app.agents.recorded_agent import RecordedAgent, RecordedModel
from app.agents.recording import RecordedUnroll, Recording
from app.agents.released_agent import ReleasedAgent
from app.agents.steady import GameWeights, SteadyAgent, SteadyModel
from app.agents.timed_agent import TimedAgent, TimedModel
from app.agents.unroll import Unroll
from app.errors import BadRequestError
from app.metrics.here import record
from app.models.model import Model
from app.releases.statistics import Statistics
from app.seeding import Draws, derive
from app.sessions.blackboard import Board
from app.sessions.ids import agent_of, game_of
from app.sessions.session import SessionAgent
from app.stores.metrics_values import Episode
from app.types import Purpose, SessionId
from deployments.league import WHOLE, Part
from deployments.releases import ReplicaReleases
from deployments.replica_parts import ReplicaParts

if TYPE_CHECKING:
    from collections.abc import Callable

SESSIONS_REMEMBERED: Final = 10_000
"""Newest session ids whose plays are counted; one that comes back later begins to count anew."""

_log = logging.getLogger(__name__)


class AgentMaker:
    """Makes the agent of each session out of what the replica's agents share."""

    def __init__(self, parts: ReplicaParts) -> None:
        self._parts = parts
        self._players = [name for name, agent in parts.agents.items() if agent.role == "player"]
        self._observers = [name for name, agent in parts.agents.items() if agent.role == "observer"]
        self._games = {agent.model: GameWeights() for agent in parts.agents.values() if agent.model}
        self._replica_number = secrets.randbits(31)
        self._episodes = 0
        self._plays: OrderedDict[SessionId, int] = OrderedDict()

    def make(self, session: SessionId, purpose: Purpose, board: Board) -> SessionAgent:
        """Returns a new agent: the one that the session's id names, or the actor's first; with those that observe.

        Raises:
          BadRequestError: No agent of that name plays here.
        """
        name = self.player_of(session)
        if name not in self._players:
            raise BadRequestError(f"session {session!r} names agent {name!r}; here play {', '.join(self._players)}")
        player = self._seated(name, session, purpose, board)
        if self._parts.actor.slow_tick_ms is not None:
            player = TimedAgent(player)
        if not self._observers:
            return player
        observers = [
            self._agent(observer, session, purpose, board, self._model_of(observer), WHOLE)
            for observer in self._observers
        ]
        return Observed(player, observers, session, self._parts.counts)

    def player_of(self, session: SessionId) -> str:
        """Returns the agent that a session's id names, or the actor's first."""
        return agent_of(session) or self._players[0]

    def _seated(self, name: str, session: SessionId, purpose: Purpose, board: Board) -> SessionAgent:
        """Returns who answers a session: the agent that it names, or in a league's game whoever sits on its seat."""

        def play(plays: str, seated: SessionId, part: Part) -> SessionAgent:
            return self._player(plays, seated, purpose, board, part)

        if self._parts.league is None or purpose is not Purpose.TRAIN or not self._parts.league.seats(name):
            return play(name, session, WHOLE)
        return self._parts.league.agent(name, self._parts.classes, session, play)

    def _player(
        self,
        name: str,
        session: SessionId,
        purpose: Purpose,
        board: Board,
        part: Part,
    ) -> SessionAgent:
        """Returns who answers a session; where its model is not to change at any tick, it keeps its weights."""
        model = self._model_of(name, frozen=part.frozen is not None)
        asked = str(self._parts.agents[name].model)
        if model is None or asked in self._parts.models.released:  # A release keeps its version anyhow.
            return self._agent(name, session, purpose, board, model, part)
        weights = self._parts.config.models[asked].weights
        if part.frozen is None and weights.change == "always" and weights.every_ticks in (None, 1):
            return self._agent(name, session, purpose, board, model, part)
        steady = SteadyModel(model)
        agent = self._agent(name, session, purpose, board, steady, part)
        games = self._games[asked]
        every = None if part.frozen is not None else weights.every_ticks
        return SteadyAgent(agent, steady, every, game_of(session), games, self._parts.counts, part.frozen)

    def _model_of(self, name: str, *, frozen: bool = False) -> Model | None:
        model = self._parts.agents[name].model
        if not model:
            return None
        return self._parts.models.frozen(model) if frozen else self._parts.models[model]

    def _agent(
        self, name: str, session: SessionId, purpose: Purpose, board: Board, model: Model | None, part: Part
    ) -> SessionAgent:
        # The number is in the seed so that a session that is played again does not explore in the same way again.
        seed = derive(self._parts.config.run.seed, name, session, self._plays_of(session))
        agent = self._parts.agents[name]
        pace = self._parts.paces.get(agent.buffer or "") if purpose is Purpose.TRAIN and part.learns else None

        def report(returned: float, ticks: int) -> None:
            part.note(returned)
            if part.learns:  # The returns of others say nothing about who learns.
                self._parts.reporter.episode(Episode(purpose, returned, ticks, name))

        rng = Draws(seed)
        log = self._parts.recorders.log(About(session, game_of(session), name, purpose, seed), rng)
        if model is not None and pace is not None:
            model = PacedModel(model, pace)
        context = AgentContext(
            session=session,
            purpose=purpose,
            rng=rng,
            model=model if model is None or log is None else RecordedModel(model, log),
            unroll=self._unroll(name, session, purpose, log, learns=part.learns),
            report=report,
            board=board,
            measure=record,
            hyperparameters=part.hyperparameters,
        )
        if agent.model in self._parts.models.released:
            made: Agent = self._released_agent(name, context, self._parts.models.released[agent.model], log)
        else:
            made = self._made(name, context)
        return made if log is None else RecordedAgent(made, log, payloads=self._parts.recorders.payloads(name))

    def _made(self, name: str, context: AgentContext) -> Agent:
        made = partial(self._parts.classes[name], **self._parts.agents[name].kwargs)
        if self._parts.actor.slow_tick_ms is not None and context.model is not None:
            context = replace(context, model=TimedModel(context.model))
        if self._parts.threads is None or not self._parts.agents[name].blocking:
            return cast("Callable[[AgentContext], Agent]", made)(context)
        return Offloaded(context, cast("Callable[[BlockingContext], BlockingAgent]", made), self._parts.threads)

    def _released_agent(
        self, name: str, context: AgentContext, released: ReplicaReleases, log: GameLog | None
    ) -> Agent:
        """Returns an agent that keeps the version which its session begins with."""
        model = released.model.for_session(context.session)

        def report(returned: float, ticks: int) -> None:
            context.report(returned, ticks)
            if model.cohort is not None:
                released.count(model.cohort, Statistics.of_game(returned))

        asked = model if log is None else RecordedModel(model, log)
        inner = self._made(name, replace(context, model=asked, report=report))
        return ReleasedAgent(context, inner, model, released.count)

    def _plays_of(self, session: SessionId) -> int:
        """Returns how often a session has been played here, this time included."""
        plays = self._plays[session] = self._plays.pop(session, 0) + 1
        if len(self._plays) > SESSIONS_REMEMBERED:
            self._plays.popitem(last=False)
        return plays

    def _unroll(
        self, name: str, session: SessionId, purpose: Purpose, log: GameLog | None, *, learns: bool
    ) -> Unroll | None:
        """Returns what collects a session's rows, to learn from and to record; None where nobody wants them."""
        agent = self._parts.agents[name]
        learned = learns and purpose is Purpose.TRAIN and agent.buffer is not None
        if agent.model is None or not (learned or log is not None):
            return None
        self._episodes += 1
        number = self._replica_number << 32 | self._episodes
        self._parts.checks.begun(number, session)
        recording = None if log is None else Recording(number, log)
        if not learned:
            return recording
        emit = self._parts.pushers[str(agent.buffer)].add
        if agent.blocking:  # Its unroll is called in a thread, and the pusher lives on the loop.
            emit = on_loop(asyncio.get_running_loop(), emit)
        pace = self._parts.paces.get(str(agent.buffer))
        learning = Unroll(number, self._parts.actor.unroll_ticks, emit, watch=pace)
        if pace is not None:
            pace.join(learning)
        return learning if recording is None else RecordedUnroll(learning, recording)
