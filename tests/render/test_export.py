"""Films of recorded games."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from app.errors import RecordingError
from app.recordings.reading import Episode, read_episode
from app.render.export import even, write_gif, write_mp4
from app.render.frame import Frame, Picture
from tests.recordings.played import write_games


@pytest.fixture
async def episode(tmp_path: Path) -> Episode:
    return read_episode(await write_games(tmp_path / "player.parquet", [3]), 0)


def shade(frame: Frame) -> Picture:
    return np.full((21, 31, 3), 60 * frame.at, np.uint8)


async def test_a_gif_shows_each_frame_for_its_time(episode: Episode, tmp_path: Path) -> None:
    path = tmp_path / "game.gif"
    assert write_gif(episode, "shade", shade, path, 10) == 4
    with Image.open(path) as film:
        assert (film.n_frames, film.size, film.info["duration"], film.info["loop"]) == (4, (31, 21), 100, 0)  # type: ignore[attr-defined]
        film.seek(2)
        assert film.convert("RGB").getpixel((0, 0)) == (120, 120, 120)


async def test_an_mp4_shows_each_frame_with_even_sides(episode: Episode, tmp_path: Path) -> None:
    av = pytest.importorskip("av", reason="the extra video")
    path = tmp_path / "game.mp4"
    assert write_mp4(episode, "shade", shade, path, 10) == 4
    with av.open(str(path)) as film:
        shown = [frame.to_ndarray(format="rgb24") for frame in film.decode(video=0)]
    assert [one.shape for one in shown] == [(22, 32, 3)] * 4
    assert [round(float(one.mean()) / 60) for one in shown] == [0, 1, 2, 3]


async def test_what_gives_no_images_of_one_size_is_no_film(episode: Episode, tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="render 'html' gives HTML, which is no film"):
        write_gif(episode, "html", lambda _: "<b>", tmp_path / "x.gif", 10)
    with pytest.raises(RecordingError, match=r"render 'grows' gave \(1, 2\) first and \(2, 2\) at step 2"):
        write_gif(episode, "grows", lambda frame: np.zeros((frame.at + 1, 2, 3), np.uint8), tmp_path / "x.gif", 10)
    with pytest.raises(RecordingError, match="cannot be written"):
        write_gif(episode, "shade", shade, tmp_path / "nowhere" / "x.gif", 10)


def test_an_odd_side_is_made_even_by_its_edge() -> None:
    image = np.arange(3 * 2 * 3, dtype=np.uint8).reshape(3, 2, 3)
    assert even(image).shape == (4, 2, 3)
    np.testing.assert_array_equal(even(image)[3], image[2])
