"""``sparring league`` on the files of a trial that has ended."""

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from app.errors import ConfigError, LeagueError
from app.home import HOME_VARIABLE
from app.league.about import write_about
from app.league.report import report_of
from deployments.operate.league_commands import export, files_of, league_folder, show
from deployments.operate.league_lines import shown
from tests.league.leagues import begun, freeze
from tests.league.test_keeping import SETTINGS, Kept


@pytest.fixture
def trial(tmp_path: Path) -> Path:
    """Returns the folder of a trial that has ended."""
    folder = tmp_path / "league"
    kept = Kept(folder)
    write_about(folder, SETTINGS)
    freeze(kept.league, "main")
    kept.play(3)
    return tmp_path


def test_a_folder_is_shown_as_tables(trial: Path, capsys: pytest.CaptureFixture[str]) -> None:
    show(str(trial))
    told = capsys.readouterr().out
    assert "exploiter (learns)" in told
    assert "main:1 *" in told
    assert "1.00 (3)" in told
    assert "champion main:1, challenged by nobody" in told
    assert "open matches 0; matches finished 3, matches opened 3, pairs counted 3" in told


def test_a_folder_is_shown_as_json(trial: Path, capsys: pytest.CaptureFixture[str]) -> None:
    show(str(trial / "league"), matches=2, json_=True)
    told = json.loads(capsys.readouterr().out)
    assert told["standings"][0]["player"] == "exploiter"
    assert [match["id"] for match in told["matches"]] == ["test-2", "test-3"]


def test_a_folder_is_exported(trial: Path, capsys: pytest.CaptureFixture[str]) -> None:
    export("standings_csv", str(trial))
    assert capsys.readouterr().out.startswith("player,frozen,role,")
    export("matches_pgn", str(trial), trial / "matches.pgn")
    assert (trial / "matches.pgn").read_text().count('[White "exploiter"]') == 3


def test_what_cannot_be_exported_is_named(trial: Path) -> None:
    with pytest.raises(ConfigError, match=r"exported as one of json, standings_csv, .*; got 'xml'"):
        export("xml", str(trial))
    with pytest.raises(LeagueError, match="cannot write"):
        export("json", str(trial), trial / "nowhere" / "league.json")
    with pytest.raises(LeagueError, match="there is no league in"):
        show(str(trial.parent))


def test_the_files_of_a_trial_are_found_by_its_name(
    trial: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path_factory.mktemp("home")
    (home / "game").mkdir()
    trial.rename(home / "game" / "one")
    monkeypatch.setenv(HOME_VARIABLE, str(home))
    assert files_of("game.one") == home / "game" / "one" / "league"
    assert [files_of(other) for other in ("game.two", "game", "game.", None)] == [None] * 4


def test_a_trial_is_no_folder() -> None:
    assert league_folder("project.trial") is None
    assert league_folder(None) is None


def test_a_challenger_is_shown_with_its_score() -> None:
    league = begun()
    for _ in range(2):
        freeze(league, "main")
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(shown(report_of(league.state, {"main:1": 1.0}), "league"))
    assert "champion main:1, challenged by main:2, who has 0 of 0 matches" in console.export_text()
