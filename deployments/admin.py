"""The admin paths of the game port: health, sessions, metrics of all replicas of the node, and weights."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple, Protocol, cast
from urllib.parse import quote, unquote, urlencode

import orjson

from app.errors import SessionUnknownError, UnauthorizedError
from app.metrics.documents import document_of
from app.metrics.here import PROCESS
from app.metrics.prometheus import CONTENT_TYPE, exposition
from app.metrics.registry import Registry
from app.metrics.reports import NodeReport, ReplicaReport
from app.sessions.listing import Query, SessionSummary, page_document, read_query
from app.wire.http import JSON, HttpReply, HttpRequest
from app.wire.openapi import openapi
from app.wire.routes import unserved
from app.wire.step_fields import credentials_of
from app.wire.steps import Credentials
from deployments.console.files import CONSOLE, FILES
from deployments.console.pages import RING
from deployments.record_pages import RECORDINGS, RecordPages
from deployments.recording_pages import RECORDING
from deployments.trial_pages import Page, TrialPages
from deployments.weights_pages import WEIGHTS

SESSION: Final = "/sessions/"
"""Path of one session, without its id."""
_OK: Final = 200
_MANY: Final = (SESSION, WEIGHTS, FILES, RECORDING)
"""Begins of paths that stand for many."""
_ELSEWHERE: Final = frozenset({"/metrics", "/sessions", "/node", "/weights", CONSOLE, RING, *_MANY})
"""What Serve's port leaves to the node's own."""


class Sessions(Protocol):
    """The open sessions of this replica."""

    def page(self, query: Query) -> tuple[list[SessionSummary], bool]:
        """Returns a page of summaries, and whether more follow."""

    def find(self, session: str) -> SessionSummary | None:
        """Returns the summary of one session; None where it is not open here."""


class PeerAnswer(NamedTuple):
    """What another replica answered."""

    status: int
    document: object
    """Parsed JSON."""


class Peers(Protocol):
    """The other replicas of this node."""

    async def ask(self, target: str) -> Mapping[str, PeerAnswer | None]:
        """Returns each replica's answer to ``GET target``, by its name; None for one that is silent."""


class Admin:
    """Answers an operator; any replica of a node answers for all of them."""

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
          peers: The node's other replicas; None where there are none.
          may_see: Tells whether credentials open more than health, readiness and the OpenAPI document.
          address: ``host:port`` of the game port, for whoever asks elsewhere.
          trial: Shows the trial.
          recordings: Lets games be recorded.
          series: What this process has measured.
        """
        self._report = report
        self._sessions = sessions
        self._peers = peers
        self._may_see = may_see
        self._address = address
        self._trial = trial
        self._recordings = recordings
        self._series = series
        self._pages = trial.by_path()
        self._document = orjson.dumps(openapi())

    async def show(self, request: HttpRequest) -> HttpReply:
        """Returns the reply to an operator, for the whole node.

        Raises:
          SessionUnknownError: No replica of the node holds the session.
          BadRequestError: A page is asked for that there cannot be.
          UnauthorizedError: The credentials do not open this path.
        """
        return await self._show(request, self._peers)

    async def show_peer(self, request: HttpRequest) -> HttpReply:
        """Returns the reply to another replica that has shown the cluster's secret: this replica's part alone.

        Raises:
          StepError: As ``show``.
        """
        return await self._show(request, None, trusted=True)

    def elsewhere(self, request: HttpRequest) -> HttpReply | None:
        """Returns the redirection of Serve's port to the node's own; None for what Serve's port answers itself.

        Serve picks any replica of the cluster, so that two requests would show two nodes.
        """
        if _page(request.path) not in _ELSEWHERE:
            return None
        query = urlencode(read_query(request.fields).fields()) if request.path == "/sessions" else ""
        target = f"http://{self._address}{request.path}{'?' if query else ''}{query}"
        return HttpReply(307, b"{}", headers=((b"Location", target.encode("latin-1", "replace")),))

    async def _show(self, request: HttpRequest, peers: Peers | None, *, trusted: bool = False) -> HttpReply:
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
            "/openapi.json": lambda _request: HttpReply(_OK, self._document),
            **self._trial.open_by_path(),
        }

    def _guarded_paths(self, peers: Peers | None) -> dict[str, Page]:
        return {
            "/status": self._status,
            "/node": lambda _: self._node(peers),
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
        return HttpReply(_OK if shown[wanted] else 503, orjson.dumps(shown))

    async def _status(self, request: HttpRequest) -> HttpReply:
        report = await self._whole_report()
        return _json(report.as_dict() | {"sessions": sum(report.sessions.values()), "purposes": report.sessions})

    async def _node(self, peers: Peers | None) -> HttpReply:
        return _json((await self._node_report(peers)).as_dict())

    async def _metrics(self, peers: Peers | None) -> HttpReply:
        node, trial = await self._node_report(peers), await self._trial.samples()
        text = await asyncio.to_thread(lambda: exposition([*node.samples(), *trial]))
        return HttpReply(_OK, text, CONTENT_TYPE)

    async def _list(self, request: HttpRequest, peers: Peers | None) -> HttpReply:
        query = read_query(request.fields)
        found, more = self._sessions.page(query)
        silent: list[str] = []
        target = f"/sessions?{urlencode(query.fields())}"
        for name, answer in (await _ask(peers, target)).items():
            theirs = _sessions(answer)
            if theirs is None:
                silent.append(name)
                continue
            found += theirs[0]
            more |= theirs[1]
        found.sort(key=lambda session: session.id)
        return _json(page_document(found[: query.limit], more=more or len(found) > query.limit, silent=silent))

    async def _session(self, request: HttpRequest, peers: Peers | None) -> HttpReply:
        session = unquote(request.path.removeprefix(SESSION))
        found = self._sessions.find(session)
        if found is not None:
            return _json(found.as_dict())
        answers = await _ask(peers, SESSION + quote(session, safe=""))
        for answer in answers.values():
            if answer is not None and answer.status == _OK:
                return _json(answer.document)
        silent = sorted(name for name, answer in answers.items() if answer is None)
        hint = f"; silent are {', '.join(silent)}" if silent else ""
        raise SessionUnknownError(f"no replica of this node holds session {session[:200]!r}{hint}")

    async def _node_report(self, peers: Peers | None) -> NodeReport:
        reports, silent = [await self._whole_report()], []
        for name, answer in (await _ask(peers, "/node")).items():
            theirs = _reports(answer)
            reports += theirs or []
            silent += [] if theirs else [name]
        return NodeReport(reports, silent)

    async def _whole_report(self) -> ReplicaReport:
        """Returns what this replica says of itself, with what it has measured."""
        series = await asyncio.to_thread(self._series.read, document_of)  # Thousands would keep games waiting.
        return replace(self._report(), series=series)


def _page(path: str) -> str:
    """Returns a path without what follows one that stands for many."""
    return next((page for page in _MANY if path.startswith(page)), path)


async def _ask(peers: Peers | None, target: str) -> Mapping[str, PeerAnswer | None]:
    return {} if peers is None else await peers.ask(target)


def _json(document: object) -> HttpReply:
    return HttpReply(_OK, orjson.dumps(document), JSON)


def _reports(answer: PeerAnswer | None) -> list[ReplicaReport] | None:
    """Returns what a peer says of itself; None where that is no report."""
    if answer is None or answer.status != _OK or not isinstance(answer.document, dict):
        return None
    try:
        return [ReplicaReport.parse(part) for part in answer.document.get("replicas", [])]
    except ValueError:  # It runs another version of this code.
        return None


def _sessions(answer: PeerAnswer | None) -> tuple[list[SessionSummary], bool] | None:
    """Returns a peer's page, and whether more follow there; None where that is no page."""
    if answer is None or answer.status != _OK or not isinstance(answer.document, dict):
        return None
    document = cast("dict[str, Any]", answer.document)
    try:
        found = [SessionSummary.parse(part) for part in document.get("sessions", [])]
    except ValueError:  # It runs another version of this code.
        return None
    return found, document.get("next") is not None
