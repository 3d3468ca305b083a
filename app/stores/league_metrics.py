"""What is measured of a league: ratings, shares of games won, and what became of matches."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from app.league.standings import standings
from app.league.state import LeagueState
from app.metrics import names
from app.metrics.registry import Registry

SHOWN_MAX: Final = 256
"""Strongest players that are measured: two series each."""
MATCHES: Final = "matches_"
"""How the league's counts of matches begin."""
NOTHING: Final[Mapping[str, int]] = MappingProxyType({})


def measure_league(state: LeagueState, registry: Registry, before: Mapping[str, int] = NOTHING) -> None:
    """Takes down how a league stands.

    Args:
      state: Of the league.
      registry: Where.
      before: Its counts as this process began: what was counted then was told by another.
    """
    for one in standings(state)[:SHOWN_MAX]:
        registry.series(names.LEAGUE_RATING, player=one.player).add(one.rating)
        if one.games:
            share = (one.wins + one.draws / 2) / one.games
            registry.series(names.LEAGUE_WIN_RATE, player=one.player).add(share)
    for name, count in state.counts.items():
        if name.startswith(MATCHES):
            registry.series(names.LEAGUE_MATCHES, outcome=name.removeprefix(MATCHES)).rise_to(
                count - before.get(name, 0)
            )
    registry.series(names.LEAGUE_OPEN).add(len(state.matches))
