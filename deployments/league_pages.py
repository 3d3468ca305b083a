"""The league over HTTP, to read: how it stands, and whom a live game is to meet."""

from collections.abc import Callable
from typing import Final, Protocol

import orjson

from app.errors import BadRequestError, LeagueError, NotFoundError
from app.league.matches import Side
from app.league.report import LeagueReport
from app.numbers import finite
from app.types import Version
from app.wire.http import JSON, HttpReply, HttpRequest
from deployments.asking import PATIENCE_S, in_time, whole

LEAGUE: Final = "/league"
OPPONENT: Final = "/league/opponent"
MATCHES_MAX: Final = 1_000
"""Newest matches that one request may ask for: as many as the league has in memory."""
WHO: Final = "the league"


class Asked(Protocol):
    """The league, to look at."""

    async def show(self, matches: int, players: int | None = None) -> LeagueReport:
        """Returns how it stands, with so many of its newest matches and strongest players; None: all players."""

    async def next_opponent(self, level: float | None, rating: float | None) -> Side:
        """Returns a frozen player of a level, or near a rating."""


class LeaguePages:
    """Answers who asks about the league."""

    def __init__(
        self, league: Asked | None, agent_of: Callable[[Side], str], version_of: Callable[[Side], Version | None]
    ) -> None:
        """Makes the pages of a trial.

        Args:
          league: Its league; None where it has none.
          agent_of: Returns the agent that plays a side.
          version_of: Returns the version that a side plays; None for the trainer's newest, or none at all.
        """
        self._league = league
        self._agent_of = agent_of
        self._version_of = version_of

    async def show(self, request: HttpRequest) -> HttpReply:
        """Returns standings, payoff, and as many of the newest matches as ``matches`` says.

        Raises:
          NotFoundError: The trial has no league.
          BadRequestError: That is no number.
          OverloadedError: The league does not answer.
        """
        matches = whole(request, "matches", 0, MATCHES_MAX)
        report = await in_time(self._there().show(matches), WHO, PATIENCE_S)
        return HttpReply(200, orjson.dumps(report.as_dict(), option=orjson.OPT_SERIALIZE_NUMPY), JSON)

    async def opponent(self, request: HttpRequest) -> HttpReply:
        """Returns a frozen player for a live game: the agent and the version that its session is to start with.

        ``level`` is from 0, the weakest, to 1; ``rating`` asks for the nearest one. Without either it is the champion.

        Raises:
          NotFoundError: The trial has no league, or nobody in it is frozen.
          BadRequestError: Level or rating is no such number.
          OverloadedError: The league does not answer.
        """
        level, rating = (finite(name, request.fields.get(name)) for name in ("level", "rating"))
        if level is not None and not 0 <= level <= 1:
            raise BadRequestError(f"level is {level:g}; allowed are 0 to 1")
        if level is not None and rating is not None:
            raise BadRequestError("level and rating are both given; allowed is one of them")
        try:
            side = await in_time(self._there().next_opponent(level, rating), WHO, PATIENCE_S)
            version = self._version_of(side)
            found = {
                "player": side.player,
                "agent": self._agent_of(side),
                "model_version": None if version is None else str(version),
            }
        except LeagueError as error:
            raise NotFoundError(str(error)) from error
        return HttpReply(200, orjson.dumps(found), JSON)

    def _there(self) -> Asked:
        if self._league is None:
            raise NotFoundError("this trial has no league; its config may have one under league")
        return self._league


NO_LEAGUE: Final = LeaguePages(None, lambda side: side.player, lambda _: None)
"""Of a trial without one."""
