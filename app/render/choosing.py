"""Which render functions show a game."""

from collections.abc import Mapping
from html import escape
from typing import Final, cast

import orjson

from app.errors import RecordingError
from app.plugins import load_plugin
from app.recordings.reading import Episode
from app.render.drawing import drawn
from app.render.frame import Frame, Picture, Render

OBSERVATION: Final = "observation"
PAYLOADS: Final = "payloads"
SHIPPED: Final = "app.games."
"""How the import paths begin that a file may name: a recording is data, and loads no other code."""
SHOWN_CHARACTERS: Final = 4_000
"""Of a payload; more would be no page to read."""


def observation(frame: Frame) -> Picture:
    """Returns the observation as it is: bars, images and heat maps."""
    return drawn(frame.parts)


def payloads(frame: Frame) -> Picture:
    """Returns what came and what was answered, as text."""
    return f"<pre>{_text(frame.step.input)}\n→ {_text(frame.step.output)}</pre>"


def defaults(episode: Episode) -> dict[str, Render]:
    """Returns the renders that every game has: its observation where there is one, and what came and went."""
    shown: dict[str, Render] = {}
    if any(step.has_observation for step in episode.steps):
        shown[OBSERVATION] = observation
    if any(step.input or step.output for step in episode.steps):
        shown[PAYLOADS] = payloads
    return shown or {OBSERVATION: observation}


def told(episode: Episode) -> dict[str, Render]:
    """Returns the shipped renders that the recording itself names, and those that every game has behind them."""
    paths = {name: path for name, path in episode.renders.items() if path.startswith(SHIPPED)}
    return loaded(paths) | defaults(episode)


def loaded(paths: Mapping[str, str]) -> dict[str, Render]:
    """Returns the functions of a config's ``renders``.

    Args:
      paths: ``package.module:function`` by name.

    Raises:
      PluginError: One cannot be imported.
    """
    return {name: cast("Render", load_plugin(path)) for name, path in paths.items()}


def chosen(renders: Mapping[str, Render], name: str) -> Render:
    """Returns the render of a name, or the function of an import path.

    Raises:
      RecordingError: There is none of that name.
      PluginError: It cannot be imported.
    """
    if ":" in name:
        return loaded({name: name})[name]
    if name not in renders:
        raise RecordingError(
            f"render is {name!r}; of this game there are {', '.join(renders)}, allowed is also package.module:function"
        )
    return renders[name]


def _text(body: bytes | None) -> str:
    if body is None:
        return "nothing"
    try:
        shown = orjson.dumps(orjson.loads(body), option=orjson.OPT_INDENT_2).decode()
    except orjson.JSONDecodeError:
        shown = f"{len(body)} bytes: {body.hex(' ')}"
    more = "" if len(shown) <= SHOWN_CHARACTERS else f"\n… {len(shown)} characters"
    return escape(shown[:SHOWN_CHARACTERS] + more)
