"""Standings, the match log in the manner of PGN, and exports."""

import csv
import io
import json
from pathlib import Path

import chess.pgn
import pytest

from app.errors import LeagueError
from app.league.about import write_about
from app.league.export import exported, exported_matches, read_report
from app.league.match_log import MatchRecord, as_pgn, result_text
from app.league.players import FrozenPlayer
from app.league.report import report_of
from app.league.standings import by_level, by_rating, standings
from app.league.state import RECENT
from tests.league.leagues import DRAW, LOSS, WIN, begun, freeze, meet, play, settings_of
from tests.league.test_keeping import SETTINGS, Kept

RECORD = MatchRecord("test-7", 1_700_000_000.0, ("main", 'the "best"'), (3, 0), (1, 1), (1.0, 0.0), "main")


def test_the_strongest_comes_first_with_its_results() -> None:
    league = begun()
    freeze(league, "main")
    meet(league, "exploiter", "main:1", WIN, 2)
    meet(league, "exploiter", "main:1", DRAW)
    first, *_, last = standings(league.state, {"main:1": 1.0})
    assert (first.player, first.games, first.wins, first.draws, first.losses) == ("exploiter", 3, 2, 1, 0)
    assert (last.player, last.frozen, last.role, last.champion, last.share) == ("main:1", True, "main", True, 1.0)
    assert first.rating > last.rating


def test_levels_go_from_the_weakest_to_the_strongest() -> None:
    names = ("a", "b", "c")
    league = begun(settings_of(supplied={name: FrozenPlayer(name, rating=float(at)) for at, name in enumerate(names)}))
    found = standings(league.state)
    assert [by_level(found, level).player for level in (0.0, 0.5, 1.0)] == ["a", "b", "c"]
    assert by_rating(found, 1.2).player == "b"
    with pytest.raises(LeagueError, match=r"a level is a number in \[0, 1\], got 1.5"):
        by_level(found, 1.5)
    with pytest.raises(LeagueError, match="no frozen player yet"):
        by_rating(standings(begun().state), 1.0)


def test_a_report_is_json_with_null_for_pairs_that_have_not_met() -> None:
    league = begun()
    match = play(league, "exploiter", WIN, 3.0)
    told = json.loads(json.dumps(report_of(league.state, {}, matches=5).as_dict()))
    assert told["payoff"] == {
        "players": ["exploiter", "main"],
        "win_rates": [[None, 1.0], [0.0, None]],
        "games": [[0, 1], [1, 0]],
    }
    assert told["matches"][0]["id"] == match.id
    assert told["counts"]["matches_finished"] == 1
    assert report_of(league.state, {}).matches == ()
    assert len(report_of(league.state, {}, players=1).standings) == 1


def test_the_newest_matches_are_in_memory() -> None:
    league = begun()
    for _ in range(RECENT + 3):
        play(league, "exploiter", WIN)
    assert len(report_of(league.state, {}, matches=10**6).matches) == RECENT
    assert report_of(league.state, {}, matches=1).matches[0].id == f"test-{RECENT + 3}"


def test_a_match_is_written_in_the_manner_of_pgn() -> None:
    assert as_pgn(RECORD) == (
        '[Event "league"]\n[Site "sparring"]\n[Date "2023.11.14"]\n[Round "test-7"]\n[White "main"]\n'
        '[Black "the \\"best\\""]\n[Result "1-0"]\n[UTCTime "22:13:20"]\n[Scores "1 0"]\n[Seats "1 1"]\n'
        '[Periods "3 0"]\n[Learner "main"]\n\n1-0\n\n'
    )


def test_a_chess_program_reads_exported_matches(tmp_path: Path) -> None:
    write_about(tmp_path, SETTINGS)
    kept = Kept(tmp_path)
    for result in (LOSS, WIN, DRAW):
        play(kept.league, "exploiter", result)
    kept.journal.write()
    pgn = io.StringIO("".join(exported_matches("matches_pgn", tmp_path)) + as_pgn(RECORD))
    games = list(iter(lambda: chess.pgn.read_game(pgn), None))
    assert [game.headers["Result"] for game in games] == ["0-1", "1-0", "1/2-1/2", "1-0"]
    assert not any(game.errors for game in games)
    assert games[0].headers["White"] == "exploiter"
    assert games[-1].headers["Black"] == r"the \"best\""  # It leaves the standard's escapes as they are.
    assert games[-1].headers["Scores"] == "1 0"


@pytest.mark.parametrize(
    ("scores", "text"), [((1.0, 0.0), "1-0"), ((0.0, 2.0), "0-1"), ((1.0, 1.0), "1/2-1/2"), ((1.0, 2.0, 3.0), "*")]
)
def test_results_have_words(scores: tuple[float, ...], text: str) -> None:
    assert result_text(scores) == text


def test_a_folder_is_exported_without_its_config(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    write_about(tmp_path, SETTINGS)
    kept.play(2)
    kept.save()
    play(kept.league, "exploiter", LOSS)
    kept.league.next_match("exploiter", 0.0)
    kept.journal.write()
    report = read_report(tmp_path, 10)
    assert json.loads(exported("json", report)) == report_of(kept.league.state, {}, 10).as_dict() | {
        "matches": json.loads(exported("json", report))["matches"]
    }
    rows = list(csv.DictReader(io.StringIO(exported("standings_csv", report))))
    assert [(row["player"], row["games"], row["wins"]) for row in rows] == [("exploiter", "3", "2"), ("main", "3", "1")]
    pairs = list(csv.DictReader(io.StringIO(exported("payoff_csv", report))))
    assert [(row["player"], row["opponent"], row["games"]) for row in pairs] == [
        ("exploiter", "main", "3"),
        ("main", "exploiter", "3"),
    ]
    pgn = "".join(exported_matches("matches_pgn", tmp_path))
    assert [line for line in pgn.splitlines() if line.startswith("[Result")] == [
        '[Result "1-0"]',
        '[Result "1-0"]',
        '[Result "0-1"]',
    ]
    matches = list(csv.DictReader(io.StringIO("".join(exported_matches("matches_csv", tmp_path)))))
    assert [(row["id"], row["players"], row["learner"]) for row in matches] == [
        (f"test-{number}", "exploiter main", "exploiter") for number in (1, 2, 3)
    ]


def test_a_folder_without_a_league_is_named(tmp_path: Path) -> None:
    with pytest.raises(LeagueError, match="there is no league in"):
        read_report(tmp_path)
