"""A league without Ray, to look at."""

import asyncio

from app.errors import LeagueError
from app.league.league import League
from app.league.matches import Result, Side
from app.league.players import FrozenPlayer, Role, Weights
from app.league.report import LeagueReport, report_of
from app.league.settings import LeagueSettings, LearnerSettings
from deployments.league import version_of
from deployments.league_pages import LeaguePages

HASH = "00000000002a" + "0" * 52


class Asked:
    """A real league with one opponent, that may be away."""

    def __init__(self) -> None:
        opponent = FrozenPlayer("old", weights=Weights("clones/x", HASH), agent="player")
        self.league = League(
            LeagueSettings(learners={"main": LearnerSettings("main", Role.MAIN)}, supplied={"old": opponent})
        )
        self.league.begin("l", 0.0)
        self.asked: list[tuple[float | None, float | None]] = []
        self.is_away = False

    def play(self, games: int) -> int:
        """Plays games, and returns how many of them met the opponent."""
        matches = [self.league.next_match("main", 0.0) for _ in range(games)]
        for match in matches:
            self.league.report(match.id, Result((1.0, 0.0)), 1.0)
        return sum(any(side.player == "old" for side in match.sides) for match in matches)

    async def show(self, matches: int, players: int | None = None) -> LeagueReport:
        if self.is_away:
            await asyncio.Future()
        return report_of(self.league.state, {}, matches, players)

    async def next_opponent(self, level: float | None, rating: float | None) -> Side:
        self.asked.append((level, rating))
        if level == 0.0:
            raise LeagueError("nobody is frozen yet")
        return self.league.side("old")


def pages(asked: Asked) -> LeaguePages:
    return LeaguePages(asked, lambda side: str(side.agent), version_of)
