"""What is measured of a league: ratings, shares of games won, and what became of matches."""

from typing import Final

from app.league.standings import standings
from app.league.state import LeagueState
from app.metrics import names
from app.metrics.registry import Registry

SHOWN_MAX: Final = 256
"""Strongest players that are measured: two series each."""
MATCHES: Final = "matches_"
"""How the league's counts of matches begin."""


def measure_league(state: LeagueState, registry: Registry) -> None:
    """Takes down how a league stands."""
    for one in standings(state)[:SHOWN_MAX]:
        registry.series(names.LEAGUE_RATING, player=one.player).add(one.rating)
        if one.games:
            share = (one.wins + one.draws / 2) / one.games
            registry.series(names.LEAGUE_WIN_RATE, player=one.player).add(share)
    for name, count in state.counts.items():
        if name.startswith(MATCHES):
            registry.series(names.LEAGUE_MATCHES, outcome=name.removeprefix(MATCHES)).rise_to(count)
    registry.series(names.LEAGUE_OPEN).add(len(state.matches))
