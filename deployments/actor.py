"""An actor replica: owns the game port and the games behind it."""

import asyncio
import contextlib
import logging
import secrets
import time
from collections.abc import Awaitable, Iterator
from typing import Any, Final

import torch
from ray import serve
from ray.exceptions import RayError
from ray.serve.handle import DeploymentHandle
from starlette.requests import Request
from starlette.responses import Response

from app.errors import StepError
from app.logs.secrets import SECRETS
from app.logs.tasks import told
from app.metrics.here import PROCESS
from app.sessions.directory import Replica
from app.sessions.limits import Limits
from app.sessions.times import TickTimes
from app.stores.error_forwarder import watch_errors
from app.stores.trial import Trial
from app.types import Purpose
from app.wire.http import HttpReply, HttpRequest, refusal
from app.wire.steps import StepReply, StepRequest
from deployments.actor_args import ActorArgs
from deployments.agents import AgentMaker
from deployments.autoscaling import BUSY, GAMES
from deployments.game_port import max_body_bytes, open_peer_port, open_port, peer_host
from deployments.heap import freeze_heap
from deployments.keys import DoorKeeper
from deployments.load import LoopMeter
from deployments.overseer import Overseer, Watched
from deployments.plane import GamePlane
from deployments.ports import ClientPorts, open_client_ports, take_node_port
from deployments.replica_parts import ReplicaParts
from deployments.router import LoadReport
from deployments.serve_port import read_request, response
from deployments.slow_ticks import SlowTicks
from deployments.steps import StepService

SWEEP_S: Final = 1.0
"""Seconds between two looks for idle games."""
HAND_OVER_SHARE: Final = 0.5
"""Share of the drain's time in which the games are handed on; the rest ends what nobody took, and sends the rows."""
LEAVE_S: Final = 5.0
"""Longest wait for connections that never reconnect, of whose games this replica goes on to tell the answers."""
FLUSH_S: Final = 3.0
"""Longest wait for the last rows and reports when the replica goes."""

_log = logging.getLogger(__name__)


class ActorReplica:
    """Answers game cores on the game port, its peers on the peer port, and anyone on Serve's port."""

    async def __init__(  # type: ignore[misc]  # Serve awaits it.
        self,
        args: ActorArgs,
        remote_models: dict[str, DeploymentHandle[Any]],
        next_actor: DeploymentHandle[Any] | None,
    ) -> None:
        """Takes the ports and begins to answer.

        Args:
          args: The config and what the service agreed on.
          remote_models: Handles of the models that answer elsewhere.
          next_actor: Held so that Serve starts the application's other actors; each has a game port of its own.

        Raises:
          PortInUseError: Somebody else listens on the game port.
        """
        del next_actor
        torch.set_num_threads(1)
        self._config = args.config.actors[args.actor]
        self._name = str(serve.get_replica_context().replica_id.unique_id)
        watch_errors(args.namespace, f"replica {args.actor} {self._name}", args.config.logs)
        SECRETS.hide(args.service.cluster_secret)
        PROCESS.series_max, self._metrics = args.config.metrics.series_max, args.config.metrics
        trial = Trial(args.namespace)
        self._parts = ReplicaParts(args, trial, remote_models)
        self._tasks: list[asyncio.Task[None]] = []
        self._ports: ClientPorts | None = None
        self._overseer = Overseer(self._parts)
        self._load = LoadReport()
        self._node_port = await take_node_port(self._config, args.actor, args.owner, trial.directory)
        secret = args.service.cluster_secret
        self._peer_port = await open_peer_port(self._config, secret, self._answer_peer, self._step_of_peer)
        host = peer_host(self._config)
        own = Replica(self._name, host, self._peer_port.port, actor=args.actor)
        purpose = Purpose.TRAIN if args.config.run.mode == "train" else Purpose.PLAY
        self._keeper = DoorKeeper(self._config.access, purpose)
        self._plane = self._make_plane(trial, own, secret, purpose)
        show, show_here = self._overseer.show, self._overseer.show_here
        largest = max_body_bytes(self._config)
        self._slow_ticks = self._opened_slow_ticks()
        if self._slow_ticks is not None:
            self._plane.watch(self._slow_ticks.watched)
        self._service = StepService(self._plane.step, show, show_here, largest, self._parts.counts)
        direct = await open_port(self._config, self._service, 0, shared=False)
        watched = Watched(self._plane, self._parts, self._keeper, lambda: self._ports, lambda: self._tasks)
        self._overseer.look_at(watched, own, self._node_port.number or direct.port, secret, self._config.agents[0])
        freeze_heap()
        await self._plane.members.join(f"{host}:{direct.port}")
        self._ports = await open_client_ports(self._config, self._service, direct, self._node_port, args.owner)
        self._overseer.guard(self._ports.shared, self._plane)
        self._meter = LoopMeter()
        loop = asyncio.get_running_loop()
        work = (self._overseer.run(), self._sweep(), *self._plane.work(), *self._keeper.work(), *self._parts.work())
        slow = [] if self._slow_ticks is None else [self._slow_ticks.run()]
        self._tasks = [told(loop.create_task(one)) for one in (*work, *slow)]

    async def __call__(self, request: Request) -> Response:
        """Answers on Serve's own port what the game port answers."""
        try:
            read = await read_request(request, max_body_bytes(self._config))
            reply = self._overseer.elsewhere(read) or await self._service.answer(read)
        except StepError as error:
            reply = refusal(error)
        return response(reply)

    async def check_health(self) -> None:
        """Raises what ended one of the replica's own tasks."""
        for task in self._tasks:
            if task.done():
                task.result()

    async def record_routing_stats(self) -> dict[str, float]:
        """Returns what Serve's routers go by when they place a new game."""
        return self._load.stats(self._plane.table.games.playing, self._parts.counts["starts"], time.time())

    async def record_autoscaling_stats(self) -> dict[str, float]:
        """Returns what the autoscaler goes by; asked on the loop that answers."""
        return {GAMES: self._plane.table.games.playing, BUSY: self._meter.busy()}

    async def __del__(self) -> None:
        """Drains: refuses starts, answers what is queued, hands the open games on and sends their rows."""
        self._plane.table.draining = True
        if self._ports is not None:
            await self._ports.drain()
        with _told_alone("games were not handed on, those left end as truncated"):
            async with asyncio.timeout(HAND_OVER_SHARE * self._config.drain_timeout_s):
                await self._plane.drain()
        if self._ports is not None:
            await self._ports.until_left(LEAVE_S if self._plane.table.games.moved else 0.0)
        await self._plane.table.end_all()
        await self._parts.close()
        if self._ports is not None:
            await self._ports.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        with _told_alone("it had no time to send all that it has"):
            async with asyncio.timeout(FLUSH_S):
                await self._flush()
        self._node_port.give_up()

    def _make_plane(self, trial: Trial, own: Replica, secret: str, purpose: Purpose) -> GamePlane:
        config = self._config.limits
        limits = Limits(
            max_games=config.max_games,
            idle_timeout_s=config.idle_timeout_s,
            step_timeout_s=config.step_timeout_s,
            board_timeout_s=config.board_timeout_s,
            snapshot_every_ticks=self._config.snapshot_every_ticks,
        )
        agents, times = AgentMaker(self._parts), TickTimes(PROCESS) if self._metrics.latencies else None
        return GamePlane(
            trial,
            own,
            self._node_port.number,
            secret,
            limits,
            purpose,
            self._keeper,
            agents.make,
            lambda: f"{self._name}.{secrets.token_hex(6)}",
            self._overseer.clock,
            self._parts.counts,
            lambda session: times if self._metrics.timed(agents.player_of(session)) else None,
        )

    def _opened_slow_ticks(self) -> SlowTicks | None:
        limit_ms = self._config.slow_tick_ms
        if limit_ms is None:
            return None
        return SlowTicks(limit_ms, f"replica {self._name}", self._parts.alarms.tell, self._parts.counts)

    async def _answer_peer(self, request: HttpRequest) -> HttpReply:
        return await self._plane.answer_peer(self._service, request)

    def _step_of_peer(self, request: StepRequest, via_gateway: bool) -> Awaitable[StepReply]:
        return self._plane.step_of_peer(request, via_gateway)

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_S)
            try:
                await self._plane.sweep()
            except RayError as error:  # The stores' process restarts; what is over is let go the next time.
                _log.warning("the directory of games does not answer: %s", error)

    async def _flush(self) -> None:
        for buffer, pusher in self._parts.pushers.items():
            with _told_alone(f"not all rows of buffer {buffer} were sent"):
                await pusher.flush()
        with _told_alone("not all alarms were sent"):
            await self._parts.alarms.flush()
        with _told_alone("its newest counts were not sent"):
            await self._parts.reporter.leave()
        with _told_alone("others were not told that it goes"):
            await self._plane.leave()
        await self._peer_port.close()


@contextlib.contextmanager
def _told_alone(lost: str) -> Iterator[None]:
    """Tells of what fails at the end of a replica: the stores may be gone already, and the rest is still to be done."""
    try:
        yield
    except Exception as error:  # noqa: BLE001  # Whatever it was, the replica goes.
        cause = error.exceptions[0] if isinstance(error, ExceptionGroup) else error
        _log.warning("%s: %s: %s", lost, type(cause).__name__, cause)
