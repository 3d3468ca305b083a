"""A recorded episode as one HTML page that needs nothing else."""

import base64
import hashlib
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from typing import Any

import orjson
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from app.recordings.episode import Episode
from app.render.choosing import told
from app.render.document import document
from app.render.frame import Render


def player_html(episode: Episode, renders: Mapping[str, Render] | None = None) -> str:
    """Returns a page that plays an episode: pictures, timeline, values, probabilities, rewards; it loads nothing.

    Args:
      episode: What is shown.
      renders: Functions that draw it, by name, the first one shown first; None: the shipped ones that the recording
        names, and those that every game has.

    Raises:
      RecordingError: There is nothing to show, or a render gave no picture.
    """
    shown = document(episode, told(episode) if renders is None else renders)
    return page(f"{episode.game} · {episode.session}", shown)


def page(title: str, shown: Mapping[str, object]) -> str:
    """Returns the page of what ``document`` tells."""
    script, style = _script(), _style()
    # Whatever a render or a payload holds: scripts of it do not run, and nothing is loaded from anywhere.
    policy = (
        f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src '{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    written: str = _template().render(
        title=title,
        policy=policy,
        style=Markup(style),  # noqa: S704  # Our own files.
        script=Markup(script),  # noqa: S704  # Likewise.
        data=Markup(_json_in_html(shown)),  # noqa: S704  # Escaped.
    )
    return written


def _json_in_html(shown: Mapping[str, object]) -> str:
    text = orjson.dumps(shown).decode()
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _digest(script: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"


@lru_cache(1)
def _script() -> str:
    web = files("app.render") / "web"
    return (web / "vendor" / "uplot-1.6.32.js").read_text() + "\n" + (web / "player.js").read_text()


@lru_cache(1)
def _style() -> str:
    web = files("app.render") / "web"
    return (web / "vendor" / "uplot-1.6.32.css").read_text() + "\n" + (web / "player.css").read_text()


@lru_cache(1)
def _template() -> Any:
    environment = Environment(autoescape=True, undefined=StrictUndefined, keep_trailing_newline=True)
    return environment.from_string((files("app.render") / "web" / "player.html").read_text())
