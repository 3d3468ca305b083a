"""A league as text that other programs read."""

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import orjson

from app.league.about import read_about
from app.league.keeping import history, restore
from app.league.match_log import MatchLog, MatchRecord, as_pgn
from app.league.report import LeagueReport, report_of

Kind = Literal["json", "standings_csv", "payoff_csv"]
MatchesKind = Literal["matches_csv", "matches_pgn"]


def read_report(folder: Path, matches: int = 0) -> LeagueReport:
    """Returns how the league of a folder stands, as far as its files tell; nothing is changed.

    Raises:
      LeagueError: There is none, or a file cannot be read.
    """
    return report_of(restore(folder, read_about(folder), cut=False).state, {}, matches)


def exported(kind: Kind, report: LeagueReport) -> str:
    """Returns a league without its match log: all of it as JSON, or one part as CSV."""
    match kind:
        case "json":
            return orjson.dumps(report.as_dict(), option=orjson.OPT_INDENT_2).decode() + "\n"
        case "standings_csv":
            return _csv(_standing_rows(report))
        case "payoff_csv":
            return _csv(_payoff_rows(report))


def exported_matches(kind: MatchesKind, folder: Path) -> Iterator[str]:
    """Yields the match log of a folder, as much of it as is kept, oldest match first.

    Raises:
      LeagueError: There is none, or a file cannot be read.
    """
    log = MatchLog(restore(folder, read_about(folder), cut=False).state.token)
    if kind == "matches_csv":
        yield _csv([["id", "ended_s", "players", "periods", "seats", "scores", "learner"]])
    for event in history(folder):
        record = log.record(event)
        if record is not None:
            yield as_pgn(record) if kind == "matches_pgn" else _csv([_row(record)])


def _standing_rows(report: LeagueReport) -> Iterator[Sequence[object]]:
    """Yields a player a line, without its hyperparameters."""
    for place, standing in enumerate(report.standings):
        told = {name: value for name, value in standing.as_dict().items() if name != "hyperparameters"}
        if not place:
            yield list(told)
        yield list(told.values())


def _payoff_rows(report: LeagueReport) -> Iterator[Sequence[object]]:
    """Yields the pairs that have met, each once a direction."""
    yield ["player", "opponent", "win_rate", "games"]
    for row, home in enumerate(report.standings):
        for column, away in enumerate(report.standings):
            if report.games[row, column]:
                rate, games = float(report.win_rates[row, column]), int(report.games[row, column])
                yield [home.player, away.player, rate, games]


def _row(record: MatchRecord) -> Sequence[object]:
    parts = (record.players, record.periods, record.seats, record.scores)
    return [record.id, record.ended_s, *(" ".join(map(str, part)) for part in parts), record.learner or ""]


def _csv(rows: Iterator[Sequence[object]] | Sequence[Sequence[object]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
