"""An actor replica: owns the game port and the games behind it."""

import asyncio
import contextlib
import os
import secrets
from typing import Any, Final

import torch
from ray.serve.handle import DeploymentHandle
from starlette.requests import Request
from starlette.responses import Response

from app.errors import BadRequestError, StepError
from app.sessions.directory import Replica
from app.sessions.ids import game_of
from app.sessions.table import Limits, SessionTable
from app.stores.trial import Trial
from app.types import Purpose
from app.wire.http import HttpReply, HttpRequest, refusal
from deployments.agents import ActorArgs, AgentMaker
from deployments.forward import Peers
from deployments.game_port import ListeningPort, max_body_bytes, open_port, peer_host, take_port
from deployments.serve_port import read_request, response
from deployments.steps import StepService

SWEEP_S: Final = 1.0
"""Seconds between two looks for idle games."""
FLUSH_S: Final = 3.0
"""Longest wait for the last rows and reports when the replica goes."""


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
        self._trial = Trial(args.namespace)
        self._name = secrets.token_hex(4)
        self._agents = AgentMaker(args, self._trial, remote_models)
        self._table = self._make_table(args.config.run.mode == "train")
        self._peers: Peers | None = None
        self._peer_port: ListeningPort | None = None
        self._guard = await take_port(self._config, args.actor, args.owner, self._trial.directory)
        if self._config.replicas > 1:
            await self._meet_peers(args.service.cluster_secret)
        self._service = StepService(self._table, self._peers.forward if self._peers else None, self._status)
        self._game_port = await open_port(self._config, self._service.answer, self._guard.port, shared=True)
        loop = asyncio.get_running_loop()
        self._tasks = [loop.create_task(work) for work in (self._sweep(), *self._agents.work())]

    async def __call__(self, request: Request) -> Response:
        """Answers on Serve's own port what the game port answers."""
        try:
            reply = await self._service.answer(await read_request(request, max_body_bytes(self._config)))
        except StepError as error:
            reply = refusal(error)
        return response(reply)

    async def check_health(self) -> None:
        """Raises what ended one of the replica's own tasks."""
        for task in self._tasks:
            if task.done():
                task.result()

    async def __del__(self) -> None:
        """Drains: refuses starts, answers what is queued, ends the open games and sends their rows."""
        self._table.draining = True
        await self._game_port.close()
        await self._table.drain()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        with contextlib.suppress(Exception):  # The stores may be gone already, and with them who would read this.
            async with asyncio.timeout(FLUSH_S):
                await self._flush()
        self._guard.close()

    def _make_table(self, train: bool) -> SessionTable:
        limits = self._config.limits
        return SessionTable(
            self._agents.make,
            Limits(limits.max_sessions, limits.idle_timeout_s, limits.step_timeout_s),
            Purpose.TRAIN if train else Purpose.PLAY,
            lambda: f"{self._name}.{secrets.token_hex(6)}",
            asyncio.get_running_loop().time,
            self._agents.counts,
            self._claim if self._config.replicas > 1 else None,
        )

    async def _claim(self, session: str) -> None:
        if self._peers is not None:
            await self._peers.claim(session)

    async def _meet_peers(self, secret: str) -> None:
        self._peer_port = await open_port(self._config, self._answer_peer, 0, shared=False)
        own = Replica(self._name, peer_host(self._config), self._peer_port.port)
        self._peers = Peers(self._trial.directory, own, secret)
        await self._peers.join()

    async def _answer_peer(self, request: HttpRequest) -> HttpReply:
        if self._peers is None or not self._peers.admits(request):
            raise BadRequestError("the peer port serves the replicas of this service alone")
        return await self._service.answer_peer(request)

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_S)
            await self._table.sweep()
            await self._let_go()

    async def _let_go(self) -> None:
        ended, self._table.ended = self._table.ended, []
        if self._peers is not None and ended:
            gone = {game_of(session) for session in ended} - self._table.games()
            await self._peers.release(sorted(gone))

    async def _flush(self) -> None:
        for pusher in self._agents.pushers.values():
            await pusher.flush()
        await self._agents.reporter.flush()
        if self._peers is not None and self._peer_port is not None:
            await self._peers.close()
            await self._peer_port.close()

    def _status(self) -> dict[str, object]:
        failed = [task for task in self._tasks if task.done()]
        return {
            "healthy": not failed,
            "ready": not failed and not self._table.draining,
            "replica": self._name,
            "pid": os.getpid(),
            "sessions": len(self._table),
            "counts": dict(self._agents.counts),
            "versions": self._agents.versions(),
        }
