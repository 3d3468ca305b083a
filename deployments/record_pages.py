"""Recording on demand: an operator asks for one open session, or for the next games of an agent."""

from collections.abc import Mapping
from typing import Any, Final, Protocol
from urllib.parse import urlencode

import orjson

from app.errors import BadRequestError, SessionUnknownError
from app.wire.http import JSON, HttpReply, HttpRequest

RECORDINGS: Final = "/recordings"
FIELDS: Final = ("session", "agent", "games")
_OK: Final = 200


class Asked(Protocol):
    """What records the games of this replica."""

    def ask_session(self, session: str) -> None:
        """Records an open session from now on."""

    def ask_games(self, agent: str, count: int) -> None:
        """Records the next games of an agent."""


class Answer(Protocol):
    """What another replica answered."""

    @property
    def status(self) -> int:
        """Returns the status of the reply."""

    @property
    def document(self) -> Any:
        """Returns its body, parsed."""


class Peers(Protocol):
    """The other replicas of this node."""

    async def ask(self, target: str) -> Mapping[str, Answer | None]:
        """Returns each replica's answer; None for one that is silent."""


class RecordPages:
    """Answers who wants a game to be recorded."""

    def __init__(self, recorders: Asked) -> None:
        self._recorders = recorders

    async def ask(self, request: HttpRequest, peers: Peers | None) -> HttpReply:
        """Returns what will be recorded: ``session=ID`` wherever on the node it is open, ``agent=NAME&games=N`` here.

        Args:
          request: Of an operator, or of another replica.
          peers: Who else is asked for a session; None: nobody.

        Raises:
          BadRequestError: Neither is asked for, or both.
          SessionUnknownError: No replica that was asked records that session.
        """
        session, agent, games = (request.fields.get(name) for name in FIELDS)
        if session is not None and agent is None and games is None:
            return await self._session(session, peers)
        if session is None and agent is not None and games is not None and games.isdecimal():
            self._recorders.ask_games(agent, int(games[:9]))
            return _json({"agent": agent, "games": int(games)})
        given = ", ".join(name for name in FIELDS if name in request.fields) or "nothing"
        raise BadRequestError(f"got {given}; allowed is session=ID, or agent=NAME with games=N")

    async def _session(self, session: str, peers: Peers | None) -> HttpReply:
        try:
            self._recorders.ask_session(session)
        except SessionUnknownError:
            answers = {} if peers is None else await peers.ask(f"{RECORDINGS}?{urlencode({'session': session})}")
            if not any(answer is not None and answer.status == _OK for answer in answers.values()):
                raise
        return _json({"session": session})


def _json(document: dict[str, object]) -> HttpReply:
    return HttpReply(_OK, orjson.dumps(document), JSON)
