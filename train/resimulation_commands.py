"""``sparring replay --against``: recorded games against another model."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from app.config.load import load
from app.config.root import ExperimentConfig
from app.errors import ConfigError, RecordingError
from app.recordings.index import find_session, recordings
from app.recordings.reading import Episode, read_episode
from app.render.frame import Render
from app.resimulation.lines import lines
from app.resimulation.render import against_render
from train.resimulation import resimulate

NEWEST: Final = 20
"""Sessions of a folder that are played again, the newest ones."""
AGAINST: Final = (
    "Plays what came against another model and shows where that would act differently: alias or number of the "
    "registered model, models:/…, a clone, checkpoint, folder or release, .onnx file, or untrained; with --config. "
    "Default: none."
)
"""Help of the option."""


def show_against(
    place: Path,
    against: str,
    config: Path | None,
    overrides: Sequence[str],
    *,
    episode: int | None,
    session: str | None,
    as_json: bool,
) -> None:
    """Prints where another model would act differently, session by session.

    Args:
      place: A recording, or a folder of recordings.
      against: The other model.
      config: Config file with the agent that played.
      overrides: ``dotted.key=value`` items.
      episode: One episode of the file; None takes all of a file, and the newest of a folder.
      session: One session, in all its plays and parts; None as above.
      as_json: Whether each session is a line of JSON.

    Raises:
      ConfigError: No config is given.
      SparringError: Config, recording or model cannot be read, or do not fit each other.
    """
    for comparison in resimulate(_loaded(config, overrides), _episodes(place, episode, session), against):
        if as_json:
            sys.stdout.write(json.dumps(comparison.as_dict()) + "\n")
        else:
            sys.stdout.writelines(f"{line}\n" for line in lines(comparison))


def render_against(episode: Episode, against: str, config: Path | None, overrides: Sequence[str]) -> dict[str, Render]:
    """Returns what shows another model at each tick of an episode, by its name.

    Args:
      episode: What is shown.
      against: The other model.
      config: Config file with the agent that played.
      overrides: ``dotted.key=value`` items.

    Raises:
      SparringError: As above.
    """
    (comparison,) = resimulate(_loaded(config, overrides), [episode], against)
    return {f"against {against}": against_render(comparison)}


def _loaded(config: Path | None, overrides: Sequence[str]) -> ExperimentConfig:
    if config is None:
        raise ConfigError("--against needs --config: the config file with the agent that played")
    return load(config, overrides)


def _episodes(place: Path, episode: int | None, session: str | None) -> list[Episode]:
    if session is not None:
        return find_session(place, session)
    if episode is not None:
        return [read_episode(place, episode)]
    found = recordings(place, NEWEST if place.is_dir() else None)
    if not found:
        raise RecordingError(f"{place} holds no recorded session; allowed is a recording, or a folder of recordings")
    return [read_episode(one.path, one.number) for one in found]
