"""A league as tables."""

from collections.abc import Iterator, Mapping
from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table

from app.league.report import LeagueReport
from app.league.standings import Standing

PAYOFF_PLAYERS: Final = 12
"""Strongest players whose win rates are shown: more columns fit no terminal."""


def shown(report: LeagueReport, title: str) -> RenderableType:
    """Returns standings, win rates of the strongest, and what became of the matches."""
    return Group(_standings(report, title), _payoff(report), "\n".join(_lines(report)))


def _standings(report: LeagueReport, title: str) -> Table:
    table = Table(title=title)
    for name in ("player", "role", "period", "parent"):
        table.add_column(name)
    for name in ("rating", "games", "won", "drawn", "lost", "equilibrium"):
        table.add_column(name, justify="right")
    for standing in report.standings:
        share = "" if standing.share is None else f"{standing.share:.2f}"
        results = (standing.games, standing.wins, standing.draws, standing.losses)
        rating = f"{standing.rating:.1f} ± {standing.deviation:.1f}"
        told = (_name(standing), standing.role or "supplied", str(standing.period or ""), standing.parent or "")
        table.add_row(*told, rating, *map(str, results), share)
    return table


def _payoff(report: LeagueReport) -> Table:
    players = report.standings[:PAYOFF_PLAYERS]
    table = Table(title="win rate of the row's player (games)")
    table.add_column("")
    for standing in players:
        table.add_column(standing.player, justify="right")
    for row, standing in enumerate(players):
        cells = []
        for column in range(len(players)):
            games = int(report.games[row, column])
            cells.append(f"{report.win_rates[row, column]:.2f} ({games})" if games else "")
        table.add_row(standing.player, *cells)
    return table


def _lines(report: LeagueReport) -> Iterator[str]:
    champion, challenger = report.championship["champion"], report.championship["challenger"]
    if champion is not None:
        versus = "nobody" if challenger is None else f"{challenger}, who has {report.championship['wins']:g} of "
        if challenger is not None:
            versus += f"{report.championship['wins'] + report.championship['losses']:g} matches"
        yield f"champion {champion}, challenged by {versus}"
    for trainer, player in report.turns.items():
        yield f"trainer {trainer} is at {player}"
    yield f"open matches {report.open_matches}; {_counts(report.counts)}"


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in sorted(counts.items()) if count)


def _name(standing: Standing) -> str:
    mark = " *" if standing.champion else ""
    return f"{standing.player}{mark}" if standing.frozen else f"{standing.player} (learns){mark}"
