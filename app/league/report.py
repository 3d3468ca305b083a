"""A league as an operator sees it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.league.match_log import MatchRecord, record_of
from app.league.payoff import Payoff, PayoffState, PlayerId
from app.league.standings import Standing, standings
from app.league.state import LeagueState


@dataclass(frozen=True, slots=True, eq=False)
class LeagueReport:
    """One moment of a league."""

    standings: tuple[Standing, ...]
    """Players, the strongest first."""
    win_rates: NDArray[np.float64]
    """How often each row's player beats each column's, in the order of the standings, [N, N]; NaN where they have not
    met."""
    games: NDArray[np.uint32]
    """Matches of each pair, [N, N]."""
    counts: Mapping[str, int]
    """Matches and results by what became of them."""
    open_matches: int
    championship: Mapping[str, Any]
    turns: Mapping[str, PlayerId]
    """Player that each trainer is at."""
    matches: tuple[MatchRecord, ...] = ()
    """Newest finished ones, oldest first."""

    def as_dict(self) -> dict[str, Any]:
        """Returns it as a JSON object; null for a win rate of a pair that has not met."""
        rates = [[None if rate != rate else rate for rate in row] for row in self.win_rates.tolist()]  # noqa: PLR0124  # NaN.
        return {
            "standings": [standing.as_dict() for standing in self.standings],
            "payoff": {
                "players": [standing.player for standing in self.standings],
                "win_rates": rates,
                "games": self.games.tolist(),
            },
            "counts": dict(self.counts),
            "open_matches": self.open_matches,
            "championship": dict(self.championship),
            "turns": dict(self.turns),
            "matches": [match.as_dict() for match in self.matches],
        }


@dataclass(frozen=True, slots=True)
class Gathered:
    """What a report is made of: nothing changes it any more, so any thread may make the report."""

    standings: tuple[Standing, ...]
    payoff: Payoff
    """Its settings alone; it may have gone on."""
    results: PayoffState
    counts: Mapping[str, int]
    open_matches: int
    championship: Mapping[str, Any]
    turns: Mapping[str, PlayerId]
    matches: tuple[MatchRecord, ...]

    def report(self) -> LeagueReport:
        """Returns the report; its matrices take the longest."""
        payoff, ids = self.payoff.at(self.results), tuple(standing.player for standing in self.standings)
        games = payoff.games_matrix(ids)
        return LeagueReport(
            standings=self.standings,
            win_rates=np.where(games > 0, payoff.matrix(ids), np.nan),
            games=games,
            counts=self.counts,
            open_matches=self.open_matches,
            championship=self.championship,
            turns=self.turns,
            matches=self.matches,
        )


def gathered(
    state: LeagueState, strategy: Mapping[PlayerId, float], matches: int = 0, players: int | None = None
) -> Gathered:
    """Returns what a report of a league is made of.

    Args:
      state: Of the league.
      strategy: Equilibrium of the frozen players; empty where none was solved.
      matches: Newest finished matches to tell.
      players: Strongest players to tell; None tells all.
    """
    return Gathered(
        standings=tuple(standings(state, strategy)[:players]),
        payoff=state.payoff,
        results=state.payoff.state(),
        counts=dict(state.counts),
        open_matches=len(state.matches),
        championship=state.championship.as_dict(),
        turns=dict(state.turns),
        matches=tuple(record_of(state.token, played) for played in list(state.recent)[-matches:] if matches),
    )


def report_of(
    state: LeagueState, strategy: Mapping[PlayerId, float], matches: int = 0, players: int | None = None
) -> LeagueReport:
    """Returns how a league stands; see ``gathered``."""
    return gathered(state, strategy, matches, players).report()
