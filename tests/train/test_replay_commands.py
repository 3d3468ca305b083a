"""``sparring replay``."""

import json
from pathlib import Path

import pytest

from app.errors import RecordingError, SparringError
from tests.recordings.played import write_games
from train.replay_commands import replay


@pytest.fixture
async def file(tmp_path: Path) -> Path:
    return await write_games(tmp_path / "recordings" / "player.parquet", [2, 4])


async def test_a_folder_is_listed_with_a_line_a_session(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    replay(file.parent, list_=True, json_=True)
    found = {one["session"]: one for one in map(json.loads, capsys.readouterr().out.splitlines())}
    assert (found["g1-agent-player"]["ticks"], found["g1-agent-player"]["returned"]) == (4, 10.0)
    replay(file, list_=True)
    assert "g0-agent-player" in capsys.readouterr().out


async def test_an_episode_becomes_a_page_and_a_film(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page, film = tmp_path / "game.html", tmp_path / "game.gif"
    replay(file, episode=1, html=page, gif=film, json_=True)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == {"html": str(page), "session": "g1-agent-player", "episode": 1, "ticks": 4, "return": 10.0}
    assert (lines[1]["film"], lines[1]["frames"]) == (str(film), 5)
    assert "g1-agent-player" in page.read_text()
    assert film.read_bytes().startswith(b"GIF89a")


async def test_a_session_is_found_in_a_folder_and_drawn_by_a_named_render(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "game.html"
    replay(file.parent, session="g0-agent-player", html=page, render="app.games.cartpole.render:cart")
    assert "session g0-agent-player, episode 0, ticks 2" in capsys.readouterr().out
    assert '"name":"app.games.cartpole.render:cart"' in page.read_text()


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"episode": 7}, "episode 7 is wanted; it holds 2, allowed is 0 to 1"),
        ({"html": Path("x"), "render": "sky"}, "render is 'sky'; of this game there are observation, payloads"),
        ({"html": Path("x"), "render": "no.such:thing"}, "cannot import 'no.such'"),
        ({"episode": 0, "session": "a"}, "allowed is one of them"),
        ({"gif": Path("x.gif"), "against": "champion"}, "allowed is --against alone, with --html or with --to-test"),
        ({"gif": Path("x.gif"), "render": "payloads"}, "gives HTML, which is no film"),
    ],
)
async def test_what_cannot_be_had_is_said(file: Path, given: dict[str, object], says: str) -> None:
    with pytest.raises(SparringError, match=says):
        replay(file, **given)  # type: ignore[arg-type]


async def test_a_wrong_file_is_said(file: Path, tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="is not there"):
        replay(tmp_path / "none.parquet")
    with pytest.raises(RecordingError, match=r"is a folder; allowed is a file, or --session"):
        replay(file.parent)
    other = tmp_path / "other.parquet"
    other.write_bytes(b"PAR1")
    with pytest.raises(RecordingError, match="allowed is a recording"):
        replay(other, list_=True)


async def test_a_page_is_attached_to_a_run_of_the_configs_store(file: Path) -> None:
    with pytest.raises(SparringError, match="--run needs --config"):
        replay(file, run="1234")
