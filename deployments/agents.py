"""Builds the agents of an actor replica, with the models that they ask and the buffers that they fill."""

import asyncio
import logging
import secrets
from collections import Counter, OrderedDict
from collections.abc import Callable, Coroutine
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final, cast

from ray import serve
from ray.serve.handle import DeploymentHandle

from app.agents.agent import Agent, AgentContext
from app.agents.blocking import BlockingAgent, BlockingContext, Offloaded, check_blocking
from app.agents.bridge import on_loop
from app.agents.game_log import About, GameLog
from app.agents.observed import Observed
from app.agents.pace import Pace, PacedModel
from app.agents.recorded_agent import RecordedAgent, RecordedModel
from app.agents.recording import RecordedUnroll, Recording
from app.agents.released_agent import ReleasedAgent
from app.agents.steady import GameWeights, SteadyAgent, SteadyModel
from app.agents.threads import ThreadPool
from app.agents.timed_agent import TimedAgent, TimedModel
from app.agents.unroll import Unroll
from app.config.root import ExperimentConfig
from app.config.serving import ActorConfig, AgentConfig
from app.errors import BadRequestError
from app.metrics.here import record
from app.models.model import Model
from app.plugins import load_plugin
from app.releases.statistics import Statistics
from app.seeding import Draws, derive
from app.sessions.blackboard import Board
from app.sessions.ids import agent_of, game_of
from app.sessions.session import SessionAgent
from app.stores.buffer_settings import buffer_settings
from app.stores.metrics_values import Episode
from app.stores.trial import Trial
from app.types import Purpose, SessionId
from deployments.actor_args import ActorArgs
from deployments.alarm_pages import AlarmPages
from deployments.alarm_sender import AlarmSender
from deployments.console.pages import ConsolePages
from deployments.console.ring import ring_of
from deployments.error_pages import ErrorPages
from deployments.league import WHOLE, Part, ReplicaLeague
from deployments.league_pages import NO_LEAGUE
from deployments.metric_pages import MetricPages
from deployments.pacing import keep_pace
from deployments.pusher import Pusher, linked_shards
from deployments.recorders import Recorders
from deployments.recording_pages import RecordingPages
from deployments.releases import ReplicaReleases
from deployments.replica_checks import ReplicaChecks
from deployments.replica_models import ReplicaModels
from deployments.reporter import Reporter
from deployments.trial_pages import TrialPages

SESSIONS_REMEMBERED: Final = 10_000
"""Newest session ids whose plays are counted; one that comes back later begins to count anew."""

_log = logging.getLogger(__name__)


class AgentMaker:
    """Makes the agent of each session; owns what the agents of one replica share."""

    def __init__(self, args: ActorArgs, trial: Trial, remote_models: dict[str, DeploymentHandle[Any]]) -> None:
        """Builds models, pushers and the reporter.

        Raises:
          PluginError: An agent or a model of the config cannot be imported.
        """
        self._args = args
        self._actor = args.config.actors[args.actor]
        self._trial = trial
        self._agents = {name: args.config.agents[name] for name in self._actor.agents}
        self._classes = {name: _agent_class(name, agent) for name, agent in self._agents.items()}
        self._threads = _threads(self._actor) if any(agent.blocking for agent in self._agents.values()) else None
        self._players = [name for name, agent in self._agents.items() if agent.role == "player"]
        self._observers = [name for name, agent in self._agents.items() if agent.role == "observer"]
        self.counts: Counter[str] = Counter()
        """What the replica has done; the session table counts here as well."""
        wanted = [agent.model for agent in self._agents.values() if agent.model]
        self.models = ReplicaModels(args, trial, wanted, remote_models, self.counts)
        self._games = {name: GameWeights() for name in wanted}
        self.league = _league(args.config, trial, self.counts)
        self.reporter = Reporter(trial.metrics, self.counts)
        self.alarms = AlarmSender(trial.alarms)
        self._checks = ReplicaChecks(args.config, _replica(), self.alarms, self.counts, self._record)
        self.pushers = {a.buffer: self._pusher(a) for a in self._agents.values() if a.buffer}
        self._paces = {name: self._pace(name) for name in self.pushers if self._waits(name)}
        """Of the buffers whose games wait for the trainer."""
        self.recorders = self._opened_recorders(Path(args.service.home) / args.config.run.trial)
        self._replica_number = secrets.randbits(31)
        self._episodes = 0
        self._plays: OrderedDict[SessionId, int] = OrderedDict()

    def work(self) -> list[Coroutine[Any, Any, None]]:
        """Returns what must run for as long as the replica lives: weights in, rows and reports out."""
        pacing = [keep_pace(pace, self.pushers[name], self._trial.buffer(name)) for name, pace in self._paces.items()]
        pushing = [pusher.run() for pusher in self.pushers.values()]
        league = [] if self.league is None else [self.league.run()]
        checking = self._checks.work(self.models.weights_ages)
        return [*self.models.work(), self.reporter.run(), *checking, *pushing, *pacing, *league]

    def buffer_links(self) -> dict[str, int]:
        """Returns how many shards of each buffer this replica sends to."""
        return {name: pusher.links for name, pusher in self.pushers.items()}

    def pages(self, config: ExperimentConfig) -> TrialPages:
        """Returns what shows the trial.

        Args:
          config: With the components of its mode alone.
        """
        folder = Path(self._args.service.home) / config.run.trial
        return TrialPages(
            weights=self.models.weights_pages(),
            league=NO_LEAGUE if self.league is None else self.league.pages(),
            errors=ErrorPages(self._trial.errors),
            alarms=AlarmPages(self._trial.alarms),
            metrics=MetricPages(self._trial.metrics),
            recordings=RecordingPages(folder, [one.record.folder for one in config.agents.values() if one.record]),
            console=ConsolePages(ring_of(config)),
        )

    def _record(self, session: SessionId, why: str) -> None:
        self.recorders.keep(session, why)

    def stuck(self) -> list[str]:
        """Returns the calls of blocking agents that run although nobody waits for them any more."""
        return [] if self._threads is None else self._threads.stuck()

    async def close(self) -> None:
        """Reports for the last time, writes recordings and ends the threads of blocking agents; a stuck one is left."""
        await self.models.close()
        if self.league is not None:
            await self.league.flush()
        await self.recorders.close()
        if self._threads is not None:
            for call in await self._threads.close():
                _log.warning("a blocking agent's call is stuck and left behind: %s", call)

    def make(self, session: SessionId, purpose: Purpose, board: Board) -> SessionAgent:
        """Returns a new agent: the one that the session's id names, or the actor's first; with those that observe.

        Raises:
          BadRequestError: No agent of that name plays here.
        """
        name = agent_of(session) or self._players[0]
        if name not in self._players:
            raise BadRequestError(f"session {session!r} names agent {name!r}; here play {', '.join(self._players)}")
        player = self._seated(name, session, purpose, board)
        if self._actor.slow_tick_ms is not None:
            player = TimedAgent(player)
        if not self._observers:
            return player
        observers = [
            self._agent(observer, session, purpose, board, self._model_of(observer), WHOLE)
            for observer in self._observers
        ]
        return Observed(player, observers, session, self.counts)

    def _seated(self, name: str, session: SessionId, purpose: Purpose, board: Board) -> SessionAgent:
        """Returns who answers a session: the agent that it names, or in a league's game whoever sits on its seat."""

        def play(plays: str, seated: SessionId, part: Part) -> SessionAgent:
            return self._player(plays, seated, purpose, board, part)

        if self.league is None or purpose is not Purpose.TRAIN or not self.league.seats(name):
            return play(name, session, WHOLE)
        return self.league.agent(name, self._classes, session, play)

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
        if model is None or self._agents[name].model in self.models.released:  # A release keeps its version anyhow.
            return self._agent(name, session, purpose, board, model, part)
        weights = self._args.config.models[str(self._agents[name].model)].weights
        if part.frozen is None and weights.change == "always" and weights.every_ticks in (None, 1):
            return self._agent(name, session, purpose, board, model, part)
        steady = SteadyModel(model)
        agent = self._agent(name, session, purpose, board, steady, part)
        games = self._games[str(self._agents[name].model)]
        every = None if part.frozen is not None else weights.every_ticks
        return SteadyAgent(agent, steady, every, game_of(session), games, self.counts, part.frozen)

    def _model_of(self, name: str, *, frozen: bool = False) -> Model | None:
        model = self._agents[name].model
        if not model:
            return None
        return self.models.frozen(model) if frozen else self.models[model]

    def _agent(
        self, name: str, session: SessionId, purpose: Purpose, board: Board, model: Model | None, part: Part
    ) -> SessionAgent:
        # The number is in the seed so that a session that is played again does not explore in the same way again.
        seed = derive(self._args.config.run.seed, name, session, self._plays_of(session))
        agent = self._agents[name]
        pace = self._paces.get(agent.buffer or "") if purpose is Purpose.TRAIN and part.learns else None

        def report(returned: float, ticks: int) -> None:
            part.note(returned)
            if part.learns:  # The returns of others say nothing about who learns.
                self.reporter.episode(Episode(purpose, returned, ticks, name))

        rng = Draws(seed)
        log = self.recorders.log(About(session, game_of(session), name, purpose, seed), rng)
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
        if agent.model in self.models.released:
            made: Agent = self._released_agent(name, context, self.models.released[agent.model], log)
        else:
            made = self._made(name, context)
        return made if log is None else RecordedAgent(made, log, payloads=self.recorders.payloads(name))

    def _made(self, name: str, context: AgentContext) -> Agent:
        made = partial(self._classes[name], **self._agents[name].kwargs)
        if self._actor.slow_tick_ms is not None and context.model is not None:
            context = replace(context, model=TimedModel(context.model))
        if self._threads is None or not self._agents[name].blocking:
            return cast("Callable[[AgentContext], Agent]", made)(context)
        return Offloaded(context, cast("Callable[[BlockingContext], BlockingAgent]", made), self._threads)

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
        agent = self._agents[name]
        learned = learns and purpose is Purpose.TRAIN and agent.buffer is not None
        if agent.model is None or not (learned or log is not None):
            return None
        self._episodes += 1
        number = self._replica_number << 32 | self._episodes
        self._checks.begun(number, session)
        recording = None if log is None else Recording(number, log)
        if not learned:
            return recording
        emit = self.pushers[str(agent.buffer)].add
        if agent.blocking:  # Its unroll is called in a thread, and the pusher lives on the loop.
            emit = on_loop(asyncio.get_running_loop(), emit)
        pace = self._paces.get(str(agent.buffer))
        learning = Unroll(number, self._actor.unroll_ticks, emit, watch=pace)
        if pace is not None:
            pace.join(learning)
        return learning if recording is None else RecordedUnroll(learning, recording)

    def _opened_recorders(self, trial_folder: Path) -> Recorders:
        models = {name: self.models[agent.model] for name, agent in self._agents.items() if agent.model}
        specs = {name: model.spec for name, model in models.items()}
        looks = {  # Rows that go to a buffer are looked at on their way there.
            name: self._checks.recorded(agent.model, specs[name])
            for name, agent in self._agents.items()
            if agent.record is not None and agent.buffer is None and agent.model
        }
        return Recorders(trial_folder, self._agents, specs, self.counts, self._classes, looks)

    def _waits(self, buffer: str) -> bool:
        return self._args.config.buffers[buffer].rollouts == "wait"

    def _pace(self, buffer: str) -> Pace:
        """Returns what lets games wait: the replicas of the actor play equal shares of the batches of all workers."""
        settings = buffer_settings(self._args.config, buffer)
        pace = Pace(-(-settings.batch_rows * settings.workers // self._actor.replicas))
        for agent in self._agents.values():
            if agent.buffer == buffer and agent.model:
                self.models.tell(agent.model, pace.took)
        return pace

    def _pusher(self, agent: AgentConfig) -> Pusher:
        spec = self.models[str(agent.model)].spec
        buffer = self._trial.buffer(str(agent.buffer))
        wanted = self._args.config.buffers[str(agent.buffer)]
        number = serve.get_replica_context().rank.rank if wanted.links < wanted.shards else 0
        shards = linked_shards(number, wanted.shards, wanted.links)
        passed = self._checks.gate(str(agent.model), spec).passed
        return Pusher(buffer, spec, self._actor.push_rows, self._actor.push_ms / 1000, self.counts, shards, passed)


def _replica() -> str:
    return str(serve.get_replica_context().replica_id.unique_id)


def _agent_class(name: str, agent: AgentConfig) -> type[Agent] | type[BlockingAgent]:
    found = load_plugin(agent.factory)
    check_blocking(found, name, blocking=agent.blocking)
    return cast("type[Agent] | type[BlockingAgent]", found)


def _league(config: ExperimentConfig, trial: Trial, counts: Counter[str]) -> ReplicaLeague | None:
    return None if config.league is None else ReplicaLeague(config, config.league, trial.league(), counts)


def _threads(actor: ActorConfig) -> ThreadPool:
    return ThreadPool(actor.threads.count, actor.threads.max_waiting, actor.limits.step_timeout_s)
