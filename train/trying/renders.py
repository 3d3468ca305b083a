"""``sparring try render``: a render function draws the steps of a game."""

import tempfile
from pathlib import Path
from typing import Final

from PIL import Image

from app.config.root import ExperimentConfig
from app.errors import ConfigError, SparringError
from app.recordings.episode import Episode
from app.recordings.files import write_table
from app.recordings.privacy import Privacy
from app.recordings.reading import read_episode
from app.recordings.table import table
from app.render.choosing import loaded
from app.render.document import checked
from app.render.frame import Frame, Picture, Render, frames
from train.trying.agents import played, with_agent
from train.trying.report import MS, Report, per_s, told
from train.trying.threads import one_thread
from train.trying.wanted import is_path

PLAYER: Final = "app.agents.gym_agent:GymAgent"
"""Who plays made-up games where no agent is named."""


@one_thread()
def try_render(
    config: ExperimentConfig,
    name: str,
    model: str | None = None,
    source: Path | None = None,
    png: Path | None = None,
    seconds: float = 0.2,
) -> Report:
    """Returns what a render gives, and how fast.

    Args:
      config: With the agent that names the render.
      name: ``agent.render``, or an import path of the function.
      model: Whose observations are made up, or an import path; None: the agent's, or the only one.
      source: Recording to draw; None draws made-up observations.
      png: File for the picture of the first step; None writes none.
      seconds: How long it is timed.

    Raises:
      ConfigError: There is no such render.
    """
    agent, path = _named(config, name)
    try:
        (render,) = loaded({name: path}).values()
        episode = _episode(config, agent, model) if source is None else read_episode(source, 0)
        steps = frames(episode)
        pictures = [_checked(name, render, frame) for frame in steps]
    except Exception as error:  # noqa: BLE001  # The user's function may raise anything.
        return Report(f"render {name}", {}, (str(error) if isinstance(error, SparringError) else told(error),))
    sizes = sorted({_size(picture) for picture in pictures})
    facts: dict[str, object] = {
        "frames": len(steps),
        "gives": sizes,
        "ms_per_frame": round(MS / per_s(lambda: render(steps[0]), 1, seconds), 3) if steps else None,
    }
    if png is not None and pictures and not isinstance(pictures[0], str):
        Image.fromarray(pictures[0]).save(png)
        facts["png"] = str(png)
    images = [size for size in sizes if size != "HTML"]
    problems = [] if steps else ["there is no step to draw"]
    problems += [f"images of several sizes: {', '.join(images)}"] if len(images) > 1 else []
    return Report(f"render {name}", facts, tuple(problems))


def _named(config: ExperimentConfig, name: str) -> tuple[str | None, str]:
    """Returns whose render it is, and the import path of the function."""
    if is_path(name):
        return None, name
    agent, _, render = name.partition(".")
    allowed = [f"{key}.{one}" for key, settings in config.agents.items() for one in settings.renders]
    if f"{agent}.{render}" not in allowed:
        there = ", ".join(allowed) or "none"
        raise ConfigError(f"no render named {name!r}; there are: {there}; allowed is also package.module:name")
    return agent, config.agents[agent].renders[render]


def _episode(config: ExperimentConfig, agent: str | None, model: str | None) -> Episode:
    """Returns a made-up game of an agent, as its recording would tell it."""
    if agent is None:
        only = model or next(iter(config.models), None)
        if only is None:
            raise ConfigError("nobody knows what it is to draw; allowed is --input, or --model")
        config, agent = with_agent(config, PLAYER, only)
    tried, spec = played(config, agent, model, games=1, ticks=16, source=None)
    if tried.errors:
        raise ConfigError(f"the game to draw was not played: {next(iter(tried.errors))}")
    with tempfile.TemporaryDirectory(prefix="sparring-try-") as folder:
        path = Path(folder) / "game.parquet"
        write_table(path, table(tried.played, spec, Privacy(), {"agent": agent, "codec": "json", "renders": "{}"}))
        return read_episode(path, 0)


def _checked(name: str, render: Render, frame: Frame) -> Picture:
    picture = render(frame)
    if isinstance(picture, str):
        return picture
    image: Picture = checked(name, picture)
    return image


def _size(picture: Picture) -> str:
    return "HTML" if isinstance(picture, str) else " x ".join(map(str, picture.shape))
