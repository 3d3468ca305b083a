"""The admin paths of the game port: health, metrics of the node, sessions of the service, and weights."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Final, Protocol
from urllib.parse import quote, unquote, urlencode

import orjson

from app.errors import SessionUnknownError, UnauthorizedError
from app.metrics.documents import document_of
from app.metrics.here import PROCESS
from app.metrics.prometheus import CONTENT_TYPE, exposition
from app.metrics.registry import Registry
from app.metrics.reports import NodeReport, ReplicaReport
from app.sessions.listing import Query, SessionSummary, merged, page_document, read_query
from app.wire.http import JSON, HttpReply, HttpRequest
from app.wire.openapi import openapi
from app.wire.routes import unserved
from app.wire.step_fields import credentials_of
from app.wire.steps import Credentials
from deployments.console.files import CONSOLE, FILES
from deployments.console.pages import RING
from deployments.peer_answers import OK, Nobody, Peers, sessions_of, silent_in, together
from deployments.record_pages import RECORDINGS, RecordPages
from deployments.recording_pages import RECORDING
from deployments.trial_pages import Page, TrialPages
from deployments.weights_pages import WEIGHTS

SESSION: Final = "/sessions/"
"""Path of one session, without its id."""
_MANY: Final = (SESSION, WEIGHTS, FILES, RECORDING)
"""Begins of paths that stand for many."""
_ELSEWHERE: Final = frozenset({"/metrics", "/node", "/weights", CONSOLE, RING, WEIGHTS, FILES, RECORDING})
"""What Serve's port leaves to the node's own."""


class Sessions(Protocol):
    """The open sessions of this replica."""

    def page(self, query: Query) -> tuple[list[SessionSummary], bool]:
        """Returns a page of summaries, and whether more follow."""

    def find(self, session: str) -> SessionSummary | None:
        """Returns the summary of one session; None where it is not open here."""


class Admin:
    """Answers an operator; any replica answers for all of them."""

    def __init__(
        self,
        report: Callable[[], ReplicaReport],
        sessions: Sessions,
        peers: Peers | None,
        may_see: Callable[[Credentials | None], bool],
        address: str,
        trial: TrialPages,
        recordings: RecordPages,
        series: Registry = PROCESS,
    ) -> None:
        """Makes the admin side of one replica.

        Args:
          report: Returns what this replica says of itself now.
          sessions: Its open sessions.
          peers: The other replicas; None where there are none.
          may_see: Tells whether credentials open more than health, readiness and the OpenAPI document.
          address: ``host:port`` of the game port, for whoever asks elsewhere.
          trial: Shows the trial.
          recordings: Lets games be recorded.
          series: What this process has measured.
        """
        self._report = report
        self._sessions = sessions
        self._peers = Nobody() if peers is None else peers
        self._may_see = may_see
        self._address = address
        self._trial = trial
        self._recordings = recordings
        self._series = series
        self._pages = trial.by_path()
        self._document = orjson.dumps(openapi())

    async def show(self, request: HttpRequest) -> HttpReply:
        """Returns the reply to an operator, for all replicas.

        Raises:
          SessionUnknownError: No replica holds the session.
          BadRequestError: A page is asked for that there cannot be.
          UnauthorizedError: The credentials do not open this path.
        """
        return await self._show(request, self._peers)

    async def show_peer(self, request: HttpRequest) -> HttpReply:
        """Returns the reply to another replica that has shown the cluster's secret: this replica's part alone.

        Raises:
          StepError: As ``show``.
        """
        return await self._show(request, Nobody(), trusted=True)

    def elsewhere(self, request: HttpRequest) -> HttpReply | None:
        """Returns the redirection of Serve's port to the node's own; None for what Serve's port answers itself.

        Serve picks any replica of the cluster, so that two requests would show two nodes.
        """
        if _page(request.path) not in _ELSEWHERE:
            return None
        target = f"http://{self._address}{request.path}"
        return HttpReply(307, b"{}", headers=((b"Location", target.encode("latin-1", "replace")),))

    async def _show(self, request: HttpRequest, peers: Peers, *, trusted: bool = False) -> HttpReply:
        path = _page(request.path)
        open_path = self._open_paths().get(path)
        if open_path is not None:
            return open_path(request)
        answer = self._guarded_paths(peers).get(path) or self._pages.get(path)
        # Replicas ask each other by GET alone; everybody else looks by GET and asks by POST.
        if path == RECORDINGS and not (request.method == b"POST" or (trusted and "session" in request.fields)):
            answer = self._pages[path]
        if answer is None:
            return unserved(request)
        if not trusted and not self._may_see(credentials_of(request.fields)):
            raise UnauthorizedError(f"{path} needs the key of an administrator; /healthz and /readyz do not")
        return await answer(request)

    def _open_paths(self) -> dict[str, Callable[[HttpRequest], HttpReply]]:
        return {
            "/healthz": lambda _request: self._health("healthy"),
            "/readyz": lambda _request: self._health("ready"),
            "/openapi.json": lambda _request: HttpReply(OK, self._document),
            **self._trial.open_by_path(),
        }

    def _guarded_paths(self, peers: Peers) -> dict[str, Page]:
        return {
            "/status": self._status,
            "/node": lambda _: self._node(peers),
            "/replicas": lambda _: self._replicas(peers),
            "/metrics": lambda _: self._metrics(peers),
            "/sessions": lambda request: self._list(request, peers),
            SESSION: lambda request: self._session(request, peers),
            RECORDINGS: lambda request: self._recordings.ask(request, peers),
        }

    def _health(self, wanted: str) -> HttpReply:
        report = self._report()
        shown = {
            "replica": report.replica,
            "healthy": report.healthy,
            "ready": report.ready,
            "degraded": report.degraded,
            "stuck": report.stuck,
        }
        return HttpReply(OK if shown[wanted] else 503, orjson.dumps(shown))

    async def _status(self, request: HttpRequest) -> HttpReply:
        report = await self._whole_report()
        return _json(report.as_dict() | {"sessions": sum(report.sessions.values()), "purposes": report.sessions})

    async def _node(self, peers: Peers) -> HttpReply:
        return _json((await self._node_report(peers)).as_dict())

    async def _replicas(self, peers: Peers) -> HttpReply:
        """Returns what all replicas say, without what they have measured: that may be much of so many."""
        answers = await peers.of_service("/replicas")
        return _json(together(self._report(), answers).as_dict())

    async def _metrics(self, peers: Peers) -> HttpReply:
        node, trial = await self._node_report(peers), await self._trial.samples()
        text = await asyncio.to_thread(lambda: exposition([*node.samples(), *trial]))
        return HttpReply(OK, text, CONTENT_TYPE)

    async def _list(self, request: HttpRequest, peers: Peers) -> HttpReply:
        query = read_query(request.fields)
        found, more = self._sessions.page(query)
        answers = await peers.of_service(f"/sessions?{urlencode(query.share(peers.count()).fields())}")
        theirs = {name: sessions_of(answer) for name, answer in answers.items()}
        pages = [page for page in theirs.values() if page is not None]
        shown, left = merged([([session.as_dict() for session in found], more), *pages], query.limit)
        silent = [name for name, page in theirs.items() if page is None]
        return _json(page_document(shown, more=left, silent=silent))

    async def _session(self, request: HttpRequest, peers: Peers) -> HttpReply:
        session = unquote(request.path.removeprefix(SESSION))
        found = self._sessions.find(session)
        if found is not None:
            return _json(found.as_dict())
        answers = await peers.of_service(SESSION + quote(session, safe=""))
        for answer in answers.values():
            if answer is not None and answer.status == OK:
                return _json(answer.document)
        raise SessionUnknownError(f"no replica holds session {session[:200]!r}{silent_in(answers)}")

    async def _node_report(self, peers: Peers) -> NodeReport:
        answers = await peers.of_node("/node")
        return together(await self._whole_report(), answers)

    async def _whole_report(self) -> ReplicaReport:
        """Returns what this replica says of itself, with what it has measured."""
        series = await asyncio.to_thread(self._series.read, document_of)  # Thousands would keep games waiting.
        return replace(self._report(), series=series)


def _page(path: str) -> str:
    """Returns a path without what follows one that stands for many."""
    return next((page for page in _MANY if path.startswith(page)), path)


def _json(document: object) -> HttpReply:
    return HttpReply(OK, orjson.dumps(document), JSON)
