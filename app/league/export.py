"""A league's folder as text that other programs read."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import orjson

from app.league.events import Event
from app.league.keeping import history, restore
from app.league.match_log import MatchLog, MatchRecord, as_pgn
from app.league.report import LeagueReport, report_of
from app.league.settings import LeagueSettings

Kind = Literal["json", "standings_csv", "payoff_csv", "matches_csv", "matches_pgn"]
"""``json``: all but the match log; the others: one part."""


def exported(kind: Kind, folder: Path, settings: LeagueSettings) -> str:
    """Returns a league as text, as far as its files tell; nothing is changed.

    Raises:
      LeagueError: A file cannot be read.
    """
    state = restore(folder, settings, cut=False).state
    if kind in {"matches_csv", "matches_pgn"}:
        return _matches(kind, folder, state.token)
    report = report_of(state, {})
    if kind == "json":
        return orjson.dumps(report.as_dict(), option=orjson.OPT_INDENT_2).decode() + "\n"
    return standings_csv(report) if kind == "standings_csv" else payoff_csv(report)


def standings_csv(report: LeagueReport) -> str:
    """Returns the standings, a player a line."""
    names = [name for name in report.standings[0].as_dict() if name != "hyperparameters"] if report.standings else []
    rows = [[standing.as_dict()[name] for name in names] for standing in report.standings]
    return _csv([names, *rows])


def payoff_csv(report: LeagueReport) -> str:
    """Returns the pairs that have met, each once a direction: player, opponent, win rate, games."""
    rows: list[list[object]] = [["player", "opponent", "win_rate", "games"]]
    for row, player in enumerate(report.players):
        for column, opponent in enumerate(report.players):
            if report.games[row][column]:
                rows.append([player, opponent, report.win_rates[row][column], report.games[row][column]])
    return _csv(rows)


def _matches(kind: Kind, folder: Path, token: str) -> str:
    log, text = MatchLog(token), io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    if kind == "matches_csv":
        writer.writerow(["id", "ended_s", "players", "periods", "seats", "scores", "learner"])

    def visit(event: Event) -> None:
        record = log.record(event)
        if record is None:
            return
        if kind == "matches_pgn":
            text.write(as_pgn(record))
        else:
            writer.writerow(_row(record))

    history(folder, visit)
    return text.getvalue()


def _row(record: MatchRecord) -> list[object]:
    parts = (record.players, record.periods, record.seats, record.scores)
    return [record.id, record.ended_s, *(" ".join(map(str, part)) for part in parts), record.learner or ""]


def _csv(rows: Sequence[Sequence[object]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
