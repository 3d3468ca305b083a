"""``use_gateway: head``: one game port for the whole cluster, in front of replicas that listen on none."""

import asyncio
import os
from collections import Counter
from typing import Any, Final, NoReturn

from ray import serve
from ray.serve.handle import DeploymentHandle

from app.errors import OverloadedError
from app.logs.secrets import SECRETS
from app.logs.tasks import told
from app.sessions.blackboard import Board
from app.sessions.directory import Replica
from app.sessions.limits import Limits
from app.sessions.table import SessionTable
from app.stores.error_forwarder import watch_errors
from app.stores.trial import Trial
from app.types import Purpose, SessionId
from app.wire.steps import StepReply, StepRequest
from deployments.actor_args import ActorArgs
from deployments.batched import Batched
from deployments.forward import FORWARD_TIMEOUT_S
from deployments.game_port import max_body_bytes, open_port, take_port
from deployments.gateway import Gateway
from deployments.health import Health
from deployments.keys import DoorKeeper
from deployments.links import Links
from deployments.members import Members
from deployments.steps import StepService

LEAVE_SHARE: Final = 0.5
"""Share of the drain's time for which connections may stay whose clients cannot reconnect within a game."""


class GatewayReplica:
    """Listens on the game port of one actor and passes each step on to the replica that holds its game."""

    async def __init__(  # type: ignore[misc]  # Serve awaits it.
        self, args: ActorArgs, next_actor: DeploymentHandle[Any] | None
    ) -> None:
        """Takes the port and begins to answer.

        Args:
          args: As those of the replicas behind it.
          next_actor: Held so that Serve starts the application's other actors.

        Raises:
          PortInUseError: Somebody else listens on the game port.
        """
        del next_actor
        self._config = config = args.config.actors[args.actor]
        name = str(serve.get_replica_context().replica_id.unique_id)
        watch_errors(args.namespace, f"gateway {args.actor} {name}", args.config.logs)
        SECRETS.hide(args.service.cluster_secret)
        trial = Trial(args.namespace)
        self._counts: Counter[str] = Counter()
        self._guard = await take_port(config, args.actor, args.owner, trial.directory)
        self._table = _no_games(self._counts)
        self._members = Members(trial.directory, Replica(name, "", 0, actor=args.actor), self._guard.port, self._table)
        self._links = Links(args.service.cluster_secret)
        finding = Batched(trial.directory.find)

        async def owner_of(game: str) -> str | None:
            found = await finding.ask(game)
            return None if found.owner is None else found.owner.name

        self._gateway = Gateway(self._members, owner_of, self._post, self._counts)
        self._keeper = DoorKeeper(config.access, Purpose.TRAIN if args.config.run.mode == "train" else Purpose.PLAY)
        await self._members.join("")
        health = Health(self._status, self._keeper.may_see)
        service = StepService(self._step, health, health, max_body_bytes(config), self._counts)
        self._port = await open_port(config, service, self._guard.port, shared=True)
        loop = asyncio.get_running_loop()
        self._tasks = [told(loop.create_task(work)) for work in (self._members.run(), *self._keeper.work())]

    async def check_health(self) -> None:
        """Raises what ended one of the gateway's own tasks."""
        for task in self._tasks:
            if task.done():
                task.result()

    async def __del__(self) -> None:
        """Answers what is under way and closes the port; the games go on behind it."""
        await self._port.drain()
        await self._port.until_left(LEAVE_SHARE * self._config.drain_timeout_s)
        await self._port.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._links.close()
        await self._members.leave()
        self._guard.close()

    async def _step(self, request: StepRequest) -> StepReply:
        """Admits a step and passes it on; whose session it is, is asked where the session is held."""
        if self._keeper.doors.guarded:
            self._keeper.admit(request)
        return await self._gateway.step(request)

    async def _post(self, replica: Replica, request: StepRequest) -> StepReply:
        timeout_s = FORWARD_TIMEOUT_S + (request.deadline_ms or 0.0) / 1000
        return await self._links.step(replica, request, timeout_s, via_gateway=True)

    def _status(self) -> dict[str, object]:
        return {
            "healthy": not any(task.done() for task in self._tasks),
            "ready": bool(self._members.takers()),
            "gateway": self._members.own.name,
            "pid": os.getpid(),
            "replicas": sorted(replica.name for replica in self._members.takers()),
            "counts": dict(self._counts),
        }


def _refuse(session: SessionId, purpose: Purpose, board: Board) -> NoReturn:
    raise OverloadedError(f"a gateway plays no games, got session {session!r}")


def _no_games(counts: Counter[str]) -> SessionTable:
    """Returns the table of who takes no games: its owner meets the replicas as one that always goes away."""
    limits = Limits(max_games=0, idle_timeout_s=1, step_timeout_s=1, board_timeout_s=1, snapshot_every_ticks=None)
    table = SessionTable(_refuse, limits, Purpose.PLAY, str, asyncio.get_running_loop().time, counts)
    table.draining = True
    return table
