"""A league as an operator sees it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.league.match_log import MatchRecord, record_of
from app.league.payoff import PlayerId
from app.league.standings import Standing, standings
from app.league.state import LeagueState


@dataclass(frozen=True, slots=True)
class LeagueReport:
    """One moment of a league."""

    standings: tuple[Standing, ...]
    """All players, the strongest first."""
    players: tuple[PlayerId, ...]
    """Rows and columns of the payoff: the order of the standings."""
    win_rates: tuple[tuple[float | None, ...], ...]
    """How often each row's player beats each column's; None where they have not met."""
    games: tuple[tuple[int, ...], ...]
    """Matches of each pair."""
    counts: Mapping[str, int]
    """Matches and results by what became of them."""
    open_matches: int
    championship: Mapping[str, Any]
    turns: Mapping[str, PlayerId]
    """Player that each trainer is at."""
    matches: tuple[MatchRecord, ...] = ()
    """Newest finished ones, oldest first."""

    def as_dict(self) -> dict[str, Any]:
        """Returns it as a JSON object."""
        return {
            "standings": [standing.as_dict() for standing in self.standings],
            "payoff": {"players": self.players, "win_rates": self.win_rates, "games": self.games},
            "counts": dict(self.counts),
            "open_matches": self.open_matches,
            "championship": dict(self.championship),
            "turns": dict(self.turns),
            "matches": [match.as_dict() for match in self.matches],
        }


def report_of(state: LeagueState, strategy: Mapping[PlayerId, float], matches: int = 0) -> LeagueReport:
    """Returns how a league stands.

    Args:
      state: Of the league.
      strategy: Equilibrium of the frozen players; empty where none was solved.
      matches: Newest finished matches to tell.
    """
    found = standings(state, strategy)
    players = tuple(standing.player for standing in found)
    rates = state.payoff.matrix(players).tolist()
    games = [state.payoff.games_with(player, players).tolist() for player in players]
    return LeagueReport(
        standings=tuple(found),
        players=players,
        win_rates=tuple(
            tuple(rate if count else None for rate, count in zip(row, counts, strict=True))
            for row, counts in zip(rates, games, strict=True)
        ),
        games=tuple(map(tuple, games)),
        counts=dict(state.counts),
        open_matches=len(state.matches),
        championship=state.championship.as_dict(),
        turns=dict(state.turns),
        matches=tuple(record_of(state.token, played) for played in list(state.recent)[-matches:] if matches),
    )
