"""What the agents of one actor replica share: models, buffers, recorders, checks, league and reports."""

import logging
from collections import Counter
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, cast

from ray import serve
from ray.serve.handle import DeploymentHandle

from app.agents.agent import Agent
from app.agents.blocking import BlockingAgent, check_blocking
from app.agents.pace import Pace
from app.agents.threads import ThreadPool
from app.config.root import ExperimentConfig
from app.config.serving import ActorConfig, AgentConfig
from app.plugins import load_plugin
from app.stores.buffer_settings import buffer_settings
from app.stores.trial import Trial
from app.types import SessionId
from deployments.actor_args import ActorArgs
from deployments.alarm_pages import AlarmPages
from deployments.alarm_sender import AlarmSender
from deployments.console.pages import ConsolePages
from deployments.console.ring import ring_of
from deployments.error_pages import ErrorPages
from deployments.league import ReplicaLeague
from deployments.league_pages import NO_LEAGUE
from deployments.metric_pages import MetricPages
from deployments.pacing import keep_pace
from deployments.pusher import Pusher, linked_shards
from deployments.recorders import Recorders
from deployments.recording_pages import RecordingPages
from deployments.replica_checks import ReplicaChecks
from deployments.replica_models import ReplicaModels
from deployments.reporter import Reporter
from deployments.trial_pages import TrialPages

_log = logging.getLogger(__name__)


class ReplicaParts:
    """Lives as long as the replica."""

    def __init__(self, args: ActorArgs, trial: Trial, remote_models: dict[str, DeploymentHandle[Any]]) -> None:
        """Builds models, pushers and the reporter.

        Raises:
          PluginError: An agent or a model of the config cannot be imported.
        """
        self.config = args.config
        """With the components of its mode alone."""
        self.actor = args.config.actors[args.actor]
        self.agents = {name: args.config.agents[name] for name in self.actor.agents}
        self.classes = {name: _agent_class(name, agent) for name, agent in self.agents.items()}
        self.threads = _threads(self.actor) if any(agent.blocking for agent in self.agents.values()) else None
        """Where blocking agents are called; None where there are none."""
        self.counts: Counter[str] = Counter()
        """What the replica has done; the session table counts here as well."""
        self._trial = trial
        self._folder = Path(args.service.home) / args.config.run.trial
        wanted = [agent.model for agent in self.agents.values() if agent.model]
        self.models = ReplicaModels(args, trial, wanted, remote_models, self.counts)
        self.league = _league(args.config, trial, self.counts)
        self.reporter = Reporter(trial.metrics, self.counts)
        self.alarms = AlarmSender(trial.alarms)
        self.checks = ReplicaChecks(args.config, _replica(), self.alarms, self.counts, self._record)
        self.pushers = {a.buffer: self._pusher(a) for a in self.agents.values() if a.buffer}
        """By buffer."""
        self.paces = {name: self._pace(name) for name in self.pushers if self._waits(name)}
        """Of the buffers whose games wait for the trainer."""
        self.recorders = self._opened_recorders(self._folder)

    def work(self) -> list[Coroutine[Any, Any, None]]:
        """Returns what must run for as long as the replica lives: weights in, rows and reports out."""
        pacing = [keep_pace(pace, self.pushers[name], self._trial.buffer(name)) for name, pace in self.paces.items()]
        pushing = [pusher.run() for pusher in self.pushers.values()]
        league = [] if self.league is None else [self.league.run()]
        checking = self.checks.work(self.models.weights_ages)
        return [*self.models.work(), self.reporter.run(), *checking, *pushing, *pacing, *league]

    def buffer_links(self) -> dict[str, int]:
        """Returns how many shards of each buffer this replica sends to."""
        return {name: pusher.links for name, pusher in self.pushers.items()}

    def pages(self) -> TrialPages:
        """Returns what shows the trial."""
        folders = [one.record.folder for one in self.config.agents.values() if one.record]
        return TrialPages(
            weights=self.models.weights_pages(),
            league=NO_LEAGUE if self.league is None else self.league.pages(),
            errors=ErrorPages(self._trial.errors),
            alarms=AlarmPages(self._trial.alarms),
            metrics=MetricPages(self._trial.metrics),
            recordings=RecordingPages(self._folder, folders),
            console=ConsolePages(ring_of(self.config)),
        )

    def stuck(self) -> list[str]:
        """Returns the calls of blocking agents that run although nobody waits for them any more."""
        return [] if self.threads is None else self.threads.stuck()

    async def close(self) -> None:
        """Reports for the last time, writes recordings and ends the threads of blocking agents; a stuck one is left."""
        await self.models.close()
        if self.league is not None:
            await self.league.flush()
        await self.recorders.close()
        if self.threads is not None:
            for call in await self.threads.close():
                _log.warning("a blocking agent's call is stuck and left behind: %s", call)

    def _record(self, session: SessionId, why: str) -> None:
        self.recorders.keep(session, why)

    def _opened_recorders(self, trial_folder: Path) -> Recorders:
        models = {name: self.models[agent.model] for name, agent in self.agents.items() if agent.model}
        specs = {name: model.spec for name, model in models.items()}
        looks = {  # Rows that go to a buffer are looked at on their way there.
            name: self.checks.recorded(agent.model, specs[name])
            for name, agent in self.agents.items()
            if agent.record is not None and agent.buffer is None and agent.model
        }
        return Recorders(trial_folder, self.agents, specs, self.counts, self.classes, looks)

    def _waits(self, buffer: str) -> bool:
        return self.config.buffers[buffer].rollouts == "wait"

    def _pace(self, buffer: str) -> Pace:
        """Returns what lets games wait: the replicas of the actor play equal shares of the batches of all workers."""
        settings = buffer_settings(self.config, buffer)
        pace = Pace(-(-settings.batch_rows * settings.workers // self.actor.replicas))
        for agent in self.agents.values():
            if agent.buffer == buffer and agent.model:
                self.models.tell(agent.model, pace.took)
        return pace

    def _pusher(self, agent: AgentConfig) -> Pusher:
        spec = self.models[str(agent.model)].spec
        buffer = self._trial.buffer(str(agent.buffer))
        wanted = self.config.buffers[str(agent.buffer)]
        number = serve.get_replica_context().rank.rank if wanted.links < wanted.shards else 0
        shards = linked_shards(number, wanted.shards, wanted.links)
        passed = self.checks.gate(str(agent.model), spec).passed
        return Pusher(buffer, spec, self.actor.push_rows, self.actor.push_ms / 1000, self.counts, shards, passed)


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
