"""Recording on demand: an operator asks for one open session, or for the next games of an agent."""

from typing import Final, Protocol
from urllib.parse import urlencode

import orjson

from app.errors import BadRequestError, SessionUnknownError
from app.wire.http import JSON, HttpReply, HttpRequest
from deployments.peer_answers import OK, Peers, silent_in

RECORDINGS: Final = "/recordings"
FIELDS: Final = ("session", "agent", "games")
DIGITS_MAX: Final = 9
"""Of a number of games, far beyond what may be asked for: Python turns no text of thousands of digits into a number."""


class Asked(Protocol):
    """What records the games of this replica."""

    def ask_session(self, session: str) -> None:
        """Records an open session from now on."""

    def ask_games(self, agent: str, count: int) -> None:
        """Records the next games of an agent."""


class RecordPages:
    """Answers who wants a game to be recorded."""

    def __init__(self, recorders: Asked) -> None:
        self._recorders = recorders

    async def ask(self, request: HttpRequest, peers: Peers) -> HttpReply:
        """Returns what will be recorded: ``session=ID`` wherever it is open, ``agent=NAME&games=N`` here.

        Args:
          request: Of an operator, or of another replica.
          peers: Who else is asked for a session.

        Raises:
          BadRequestError: Neither is asked for, or both.
          SessionUnknownError: No replica that was asked records that session.
        """
        session, agent, games = (request.fields.get(name) for name in FIELDS)
        if session is not None and agent is None and games is None:
            return await self._session(session, peers)
        if session is None and agent is not None and games is not None and _is_number(games):
            self._recorders.ask_games(agent, int(games))
            return _json({"agent": agent, "games": int(games)})
        given = ", ".join(name for name in FIELDS if name in request.fields) or "nothing"
        raise BadRequestError(f"got {given}; allowed is session=ID, or agent=NAME with games=N")

    async def _session(self, session: str, peers: Peers) -> HttpReply:
        try:
            self._recorders.ask_session(session)
        except SessionUnknownError as error:
            answers = await peers.of_service(f"{RECORDINGS}?{urlencode({'session': session})}")
            if not any(answer is not None and answer.status == OK for answer in answers.values()):
                raise SessionUnknownError(f"{error}{silent_in(answers)}") from error
        return _json({"session": session})


def _is_number(text: str) -> bool:
    return text.isdecimal() and len(text) <= DIGITS_MAX


def _json(document: dict[str, object]) -> HttpReply:
    return HttpReply(OK, orjson.dumps(document), JSON)
