"""Environments that a factory of the user's makes."""

from typing import Any

from app.errors import ConfigError
from app.plugins import load_plugin


def made_by(path: str) -> Any:
    """Returns what a factory makes.

    Args:
      path: ``package.module:factory``, which takes no arguments.

    Raises:
      ConfigError: There is none, or it fails.
    """
    make = load_plugin(path)
    if not callable(make):
        raise ConfigError(f"{path!r} is a {type(make).__name__}; allowed is what makes an environment")
    try:
        return make()
    except Exception as error:
        raise ConfigError(f"{path!r} cannot make its environment: {type(error).__name__}: {error}") from error
