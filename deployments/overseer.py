"""The admin side of a replica, put together: its watchdog, its reports, and what an operator is shown."""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ray import serve

from app.metrics.reports import ReplicaReport
from app.sessions.directory import Replica
from app.sessions.listing import SessionList
from app.wire.http import HttpReply, HttpRequest
from deployments.admin import Admin
from deployments.keys import DoorKeeper
from deployments.others import Others
from deployments.plane import GamePlane
from deployments.record_pages import RecordPages
from deployments.replica_parts import ReplicaParts
from deployments.self_report import Connections, Parts, SelfReport
from deployments.watchdog import Port, Watchdog

if TYPE_CHECKING:
    import asyncio


@dataclass(frozen=True, slots=True)
class Watched:
    """What an overseer looks at."""

    plane: GamePlane
    parts: ReplicaParts
    keeper: DoorKeeper
    ports: Callable[[], Connections | None]
    """Returns the ports of clients; None before they are open."""
    tasks: Callable[[], "Sequence[asyncio.Task[None]]"]
    """Returns the replica's own tasks."""


class Overseer:
    """Looks after one replica, and shows it to its operator."""

    def __init__(self, parts: ReplicaParts) -> None:
        """Makes a watchdog for the running loop; ``show`` works after ``look_at``."""
        self._reporter = parts.reporter
        self._watchdog = Watchdog(lambda _: self._reporter.speak_now())
        self._admin: Admin | None = None
        self.clock = self._watchdog.clock
        """Returns seconds in which the loop ran."""
        self.run = self._watchdog.run
        """Watches the loop for as long as it runs."""

    def look_at(self, watched: Watched, own: Replica, port: int, secret: str, first_agent: str) -> None:
        """Shows a replica from now on, and tells the metric store of it.

        Args:
          watched: What is looked at.
          own: The replica.
          port: Port where clients reach its node.
          secret: What the peers' ports ask for.
          first_agent: Agent of the sessions that name none.
        """
        table = watched.plane.table
        sessions = SessionList(table.sessions, own.name, first_agent, self.clock)
        application = serve.get_replica_context().app_name
        identity = ReplicaReport(
            own.name, own.actor, application, own.host, port, os.getpid(), healthy=True, ready=True
        )
        parts = Parts(
            sessions=sessions,
            counts=watched.parts.counts,
            versions=watched.parts.models.versions,
            weights_ages=watched.parts.models.weights_ages,
            weights_taken=watched.parts.models.weights_taken,
            buffer_links=watched.parts.buffer_links,
            port=watched.ports,
            keys=watched.keeper,
            failed=lambda: any(task.done() for task in watched.tasks()),
            draining=lambda: table.draining,
            watchdog=self._watchdog,
            games=lambda: table.games.playing,
            stuck=watched.parts.stuck,
            releases=watched.parts.models.releases,
        )
        report = SelfReport(identity, parts)
        self._reporter.speak_of(report)

        def known() -> Iterable[Replica]:
            return watched.plane.members.replicas.values()

        peers = Others(known, own, secret)
        address = f"{own.host}:{port}"
        recordings = RecordPages(watched.parts.recorders)
        pages = watched.parts.pages()
        self._admin = Admin(report, sessions, peers, watched.keeper.may_see, address, pages, recordings)

    def guard(self, port: Port | None, plane: GamePlane) -> None:
        """Shuts a shared port while the loop stands still, as long as another replica of the node listens there.

        Args:
          port: The port; None where the replica shares none.
          plane: Knows the other replicas.
        """
        if port is None:
            return
        own = plane.members.own

        def shared() -> bool:
            others = (r for r in list(plane.members.replicas.values()) if r.name != own.name)
            return any((other.host, other.actor) == (own.host, own.actor) for other in others)

        self._watchdog.guard(port, shared)

    async def show(self, request: HttpRequest) -> HttpReply:
        """Returns what an operator is shown of the node or the service.

        Raises:
          StepError: As of ``Admin.show``.
        """
        return await self._shown().show(request)

    async def show_here(self, request: HttpRequest) -> HttpReply:
        """Returns what another replica is shown of this one.

        Raises:
          StepError: As of ``Admin.show``.
        """
        return await self._shown().show_peer(request)

    def elsewhere(self, request: HttpRequest) -> HttpReply | None:
        """Returns Serve's redirection to the node's own port; None for what Serve's port answers itself."""
        return self._shown().elsewhere(request)

    def _shown(self) -> Admin:
        if self._admin is None:
            raise RuntimeError("look_at comes before anybody is shown anything")
        return self._admin
