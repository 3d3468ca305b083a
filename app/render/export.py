"""A recorded episode as a film: GIF or MP4."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
from PIL import Image as Pillow

from app.errors import RecordingError
from app.recordings.reading import Episode
from app.render.document import checked
from app.render.frame import Image, Render, frames

MS: Final = 1000
GIF_TICK_MS: Final = 10
"""What a GIF counts time in; viewers slow down what is faster than two of them."""
GIF_FPS_MAX: Final = 50
CODEC: Final = "h264"
PIXELS: Final = "yuv420p"
"""What every player can show; sides must be even."""


def write_gif(episode: Episode, name: str, render: Render, path: Path, fps: float) -> int:
    """Writes an episode as a GIF that plays for ever, and returns the number of frames.

    Args:
      episode: What is shown.
      name: Of the render, for messages.
      render: Draws it.
      path: Of the file.
      fps: Frames a second; a GIF has at most ``GIF_FPS_MAX``.

    Raises:
      RecordingError: There is nothing to show, a render gave no image, or the file cannot be written.
    """
    pictures = [Pillow.fromarray(image) for image in images(episode, name, render)]
    duration_ms = max(MS / GIF_FPS_MAX, round(MS / fps / GIF_TICK_MS) * GIF_TICK_MS)
    first, *rest = [one.quantize(dither=Pillow.Dither.NONE) for one in pictures]
    try:
        first.save(path, "GIF", save_all=True, append_images=rest, duration=duration_ms, loop=0)
    except OSError as error:
        raise RecordingError(f"{path} cannot be written: {error}") from error
    return len(pictures)


def write_mp4(episode: Episode, name: str, render: Render, path: Path, fps: float) -> int:
    """Writes an episode as an MP4 (H.264), and returns the number of frames; see ``write_gif``.

    Raises:
      RecordingError: As ``write_gif``, or PyAV is not installed.
    """
    try:
        import av  # noqa: PLC0415  # An extra.
    except ImportError as error:
        raise RecordingError("an MP4 needs PyAV: pip install 'sparring[video]'; GIF and HTML need nothing") from error
    count = 0
    try:
        with av.open(str(path), "w", format="mp4") as film:
            stream: Any = None
            for count, image in enumerate(images(episode, name, render), 1):  # noqa: B007
                if stream is None:
                    stream = film.add_stream(CODEC, rate=max(1, round(fps)))
                    stream.height, stream.width = even(image).shape[:2]
                    stream.pix_fmt = PIXELS
                film.mux(stream.encode(av.VideoFrame.from_ndarray(even(image), format="rgb24")))
            film.mux(stream.encode())
    except (OSError, av.FFmpegError) as error:
        raise RecordingError(f"{path} cannot be written: {error}") from error
    return count


def images(episode: Episode, name: str, render: Render) -> Iterator[Image]:
    """Yields the images of an episode, all of one size.

    Raises:
      RecordingError: There is nothing to show, or a render gave HTML or images of several sizes.
    """
    every = frames(episode)
    if not every:
        raise RecordingError(f"{episode.path}: episode {episode.number} has no ticks; allowed is one with ticks")
    size: tuple[int, ...] | None = None
    for frame in every:
        picture = render(frame)
        if isinstance(picture, str):
            raise RecordingError(f"render {name!r} gives HTML, which is no film; allowed is one that gives images")
        image: Image = checked(name, picture)
        size = image.shape if size is None else size
        if image.shape != size:
            raise RecordingError(
                f"render {name!r} gave {size[:2]} first and {image.shape[:2]} at step {frame.step.seq}; allowed is one "
                "size a game"
            )
        yield image


def even(image: Image) -> Image:
    """Returns an image with even sides: the last row and column are there twice where one is missing."""
    height, width = image.shape[:2]
    return np.ascontiguousarray(np.pad(image, ((0, height % 2), (0, width % 2), (0, 0)), "edge"))
