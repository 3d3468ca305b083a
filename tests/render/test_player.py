"""Pages that play a recorded game."""

import base64
import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from PIL import Image

from app.errors import RecordingError
from app.recordings.reading import Episode, read_episode
from app.render.frame import Frame, Picture
from app.render.player import player_html
from tests.recordings.played import write_games


def document(page: str) -> dict[str, Any]:
    """Returns the data of a page."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return dict(orjson.loads(found[1]))


@pytest.fixture
async def episode(tmp_path: Path) -> Episode:
    return read_episode(await write_games(tmp_path / "player.parquet", [3]), 0)


async def test_a_page_holds_each_tick_with_what_was_thought_of_it(episode: Episode) -> None:
    data = document(player_html(episode))
    assert data["about"]["return"] == 6
    assert [frame["event"] for frame in data["frames"]] == ["tick", "tick", "tick", "stop"]
    second = data["frames"][1]
    assert (second["value"], second["reward"], second["version"]) == (1, 2, "0.0")
    assert second["probabilities"][""] == pytest.approx([1 / (1 + np.e), np.e / (1 + np.e)], rel=1e-5)
    assert second["action"][""] in (0, 1)
    assert data["returns"] == [0, 1, 3, 6]
    assert [render["name"] for render in data["renders"]] == ["observation", "payloads"]
    assert data["renders"][0]["places"] == [0, 1, 2, 3]


async def test_a_page_loads_nothing_and_runs_no_script_but_its_own(episode: Episode) -> None:
    page = player_html(episode, {"html": lambda _: "<b onclick='x()'></script><script>alert(1)</script>"})
    policy = re.search(r'Content-Security-Policy" content="(.*?)"', page)
    assert policy is not None
    assert "default-src &#39;none&#39;" in policy[1]
    assert page.count("<script") == 2
    assert "alert(1)" not in page.replace("\\u003cscript\\u003ealert(1)", "")
    assert not re.findall(r'(?:src|href)="(?!data:)', page)


async def test_each_different_picture_is_held_once(episode: Episode) -> None:
    def two(frame: Frame) -> Picture:
        return np.full((4, 6, 3), 10 * (frame.at // 2), np.uint8)

    render = document(player_html(episode, {"two": two}))["renders"][0]
    assert render["places"] == [0, 0, 1, 1]
    png = base64.b64decode(render["pictures"][1].removeprefix("data:image/png;base64,"))
    assert np.asarray(Image.open(io.BytesIO(png)).convert("RGB")).tolist() == np.full((4, 6, 3), 10).tolist()


async def test_a_long_game_shows_every_nth_tick_and_counts_the_rewards_between(
    episode: Episode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.render.document.FRAMES_MAX", 2)
    data = document(player_html(episode))
    assert [frame["seq"] for frame in data["frames"]] == [1, 3]
    assert data["returns"] == [0, 3]


async def test_a_render_that_gives_no_picture_is_named(episode: Episode) -> None:
    with pytest.raises(RecordingError, match=r"render 'bad' gave float64 \(2,\); allowed is an image"):
        player_html(episode, {"bad": lambda _: np.zeros(2)})  # type: ignore[dict-item,return-value]
