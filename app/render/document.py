"""What a page tells of a recorded episode: pictures, and figures as JSON can hold them."""

import base64
import io
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import numpy as np
from PIL import Image as Pillow

from app.errors import RecordingError
from app.recordings.episode import Episode
from app.render.frame import Frame, Picture, Render, frames
from app.render.probabilities import distribution, probabilities
from app.types import Version

FRAMES_MAX: Final = 3_000
"""Pictures of one page; of a longer episode every n-th tick is shown, since a page must open on a phone."""
BODY_CHARACTERS: Final = 400
"""Of what came and went, beside the picture."""
PALETTE_COLORS: Final = 256
"""Most colours of a picture that is written with a palette, which takes a third of the bytes."""


def document(episode: Episode, renders: Mapping[str, Render]) -> dict[str, object]:
    """Returns all that a page shows of an episode.

    Args:
      episode: What is shown.
      renders: Functions that draw it, by name, the first one shown first.

    Raises:
      RecordingError: There is nothing to show, or a render gave no picture.
    """
    every = frames(episode)
    if not every:
        raise RecordingError(f"{episode.path}: episode {episode.number} has no ticks; allowed is one with ticks")
    shown = every[:: -(-len(every) // FRAMES_MAX)]
    return {
        "about": _about(episode),
        "start": _body(episode.start.input) if episode.start is not None else None,
        "frames": [_facts(frame) for frame in shown],
        "returns": _returns(shown),
        "renders": [{"name": name, **_pictures(name, render, shown)} for name, render in renders.items()],
        "rewards": list(episode.rewards),
        "fps": _fps(shown),
    }


def picture_bytes(name: str, picture: Picture) -> bytes:
    """Returns an image as PNG.

    Raises:
      RecordingError: The render of that name gave none.
    """
    image = Pillow.fromarray(checked(name, picture))
    found = image.getcolors(PALETTE_COLORS)
    if found is not None:
        image = image.quantize(max(2, min(len(found), PALETTE_COLORS)), dither=Pillow.Dither.NONE)
    buffer = io.BytesIO()
    image.save(buffer, "PNG", optimize=False)
    return buffer.getvalue()


def checked(name: str, picture: object) -> Any:
    """Returns an image as it came.

    Raises:
      RecordingError: It is none.
    """
    if isinstance(picture, np.ndarray) and picture.dtype == np.uint8 and picture.ndim == 3 and picture.shape[2] == 3:  # noqa: PLR2004
        return picture
    got = f"{picture.dtype} {picture.shape}" if isinstance(picture, np.ndarray) else type(picture).__name__
    raise RecordingError(f"render {name!r} gave {got}; allowed is an image, uint8 [height, width, 3], or HTML as text")


def _about(episode: Episode) -> dict[str, object]:
    stop, ticks = episode.stop, episode.ticks
    versions = sorted({step.version for step in ticks if step.version is not None}, key=Version.parse)
    return {
        "session": episode.session,
        "game": episode.game,
        "agent": episode.agent,
        "purpose": episode.purpose,
        "recorded for": episode.why,
        "began": datetime.fromtimestamp(episode.steps[0].at_s, UTC).strftime("%Y-%m-%d %H:%M:%S UTC"),
        "ticks": len(ticks),
        "return": episode.returned if any(step.is_row for step in episode.steps) else None,
        "weights": ", ".join(versions) or None,
        "end": None if stop is None else " ".join(filter(None, (stop.cause, stop.kind.name.lower() * stop.is_row))),
    }


def _facts(frame: Frame) -> dict[str, object]:
    step, episode = frame.step, frame.episode
    decided = step.has_decision
    return {
        "seq": step.seq,
        "event": step.event,
        "s": round(step.at_s - episode.steps[0].at_s, 4),
        "value": _numbers(step.value) if decided else None,
        "reward": _numbers(step.reward) if step.is_row and decided else None,
        "logProb": _number(step.log_prob) if decided else None,
        "action": {path: _numbers(leaf) for path, leaf in step.action.items()} if decided else {},
        "probabilities": {path: _numbers(leaf) for path, leaf in probabilities(episode, step).items()},
        "distribution": {path: _numbers(leaf) for path, leaf in distribution(episode, step).items()},
        "version": step.version,
        "agentMs": round(step.agent_ms, 3),
        "modelMs": round(step.model_ms, 3),
        "error": step.error,
        "input": _body(step.input),
        "output": _body(step.output),
    }


def _returns(shown: Sequence[Frame]) -> list[float]:
    """Returns what was earned up to each frame, those that are not shown counted in."""
    places = {id(frame.step): at for at, frame in enumerate(shown)}
    totals, total = [0.0] * len(shown), 0.0
    for step in shown[0].episode.steps:
        if id(step) in places:
            totals[places[id(step)]] = total
        if step.is_row:
            total += float(np.nan_to_num(step.reward).sum())
    return totals


def _pictures(name: str, render: Render, shown: Sequence[Frame]) -> dict[str, object]:
    """Returns each different picture once, and which one each frame shows."""
    kept: dict[str, int] = {}
    places: list[int] = []
    html = False
    for frame in shown:
        picture = render(frame)
        html = isinstance(picture, str)
        text = picture if isinstance(picture, str) else _data_uri(picture_bytes(name, picture))
        places.append(kept.setdefault(text, len(kept)))
    return {"html": html, "pictures": list(kept), "places": places}


def _fps(shown: Sequence[Frame]) -> float:
    """Returns how fast the game was played, within what eyes can follow."""
    times = np.diff([frame.step.at_s for frame in shown])
    middle = float(np.median(times)) if times.size else 0.0
    return float(np.clip(1 / middle, 2, 15)) if middle > 0 else 10.0


def _body(body: bytes | None) -> str | None:
    if body is None:
        return None
    try:
        text = body.decode()
    except UnicodeDecodeError:
        text = f"{len(body)} bytes {body[: BODY_CHARACTERS // 3].hex(' ')}"
    return text if len(text) <= BODY_CHARACTERS else f"{text[:BODY_CHARACTERS]}… ({len(body)} bytes)"


def _numbers(array: Any) -> Any:
    """Returns an array as numbers that JSON can hold; what is not finite becomes None."""
    plain = np.asarray(array)
    if plain.ndim:
        return [_numbers(one) for one in plain]
    return _number(plain.item())


def _number(value: float | int) -> float | int | None:
    if isinstance(value, float):
        return float(f"{value:.6g}") if np.isfinite(value) else None
    return value


def _data_uri(png: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(png).decode()}"
