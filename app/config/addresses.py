"""Where a service of a config is reached."""

from collections.abc import Mapping

from app.config.root import ExperimentConfig
from app.errors import ConfigError


def game_url(config: ExperimentConfig, ports: Mapping[str, int] | None = None) -> str:
    """Returns the address of the first actor's game port, as ``http://host:port``.

    Args:
      config: What is served.
      ports: Ports that were found, by actor; those of the config where there is none.

    Raises:
      ConfigError: The config has no actor.
    """
    first = next(iter(config.actors.items()), None)
    if first is None:
        raise ConfigError("the config has no actors: there is no game port")
    name, actor = first
    return f"http://{actor.host}:{(ports or {}).get(name, actor.port)}"
