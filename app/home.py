"""Where a project keeps its files: ``SPARRING_HOME``, else ``~/.sparring``, then project, then trial.

The service resolves these paths once and hands them to jobs, whose working directory is a temporary copy.
"""

import os
from datetime import UTC, datetime
from pathlib import Path

from app.errors import ConfigError

HOME_VARIABLE = "SPARRING_HOME"
"""Environment variable that moves every project's files."""

START_FORMAT = "%Y%m%d-%H%M%S"
"""How a start time is written in a folder's name: UTC, and sorted by name is sorted by time."""


def state_root(project: str) -> Path:
    """Returns the absolute folder of a project: its tracking store, artifacts and trials.

    Raises:
      ConfigError: The project is not one plain folder name.
    """
    home = os.environ.get(HOME_VARIABLE) or "~/.sparring"
    return Path(home).expanduser().absolute() / _plain("project", project)


def trial_root(project: str, trial: str) -> Path:
    """Returns the absolute folder of one trial.

    Raises:
      ConfigError: The project or the trial is not one plain folder name.
    """
    return state_root(project) / _plain("trial", trial)


def tensorboard_folder(trial_folder: Path, start_s: float) -> Path:
    """Returns the folder of the TensorBoard files of one start, so that restarts show as runs of their own.

    Args:
      trial_folder: Folder of the trial.
      start_s: When the trainer started, in Unix seconds.
    """
    return trial_folder / "tensorboard" / datetime.fromtimestamp(start_s, UTC).strftime(START_FORMAT)


def ensure(folder: Path) -> Path:
    """Returns the folder after creating it and its parents where they are missing.

    Raises:
      ConfigError: It cannot be created.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(
            f"cannot create the folder {folder}: {error}; set {HOME_VARIABLE} to a folder that this user may write to"
        ) from error
    return folder


def _plain(what: str, name: str) -> str:
    if name in {"", ".", ".."} or "/" in name or "\0" in name:
        raise ConfigError(f"the {what} names a folder and must be one plain name without '/'; got {name!r}")
    return name
