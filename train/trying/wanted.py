"""Which component a name means: one of a config, or ``package.module:name`` without one."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, TypeVar

from app.config.load import load
from app.config.models import ModelConfig
from app.config.root import ExperimentConfig, Run
from app.errors import ConfigError

TRIED: Final = "tried"
"""What a component is called that was named by its import path."""

ComponentT = TypeVar("ComponentT")


def config_of(path: Path | None, overrides: Sequence[str]) -> ExperimentConfig:
    """Returns the config of a file; without one it names nothing.

    Raises:
      ConfigError: It is wrong, or there are overrides of no file.
    """
    if path is not None:
        return load(path, overrides)
    if overrides:
        raise ConfigError("--set changes the file of --config, which is not given")
    return ExperimentConfig(run=Run(project="sparring", trial="try"))


def is_path(name: str) -> bool:
    """Returns whether a name is an import path, and not that of a component."""
    return ":" in name


def found(section: str, components: Mapping[str, ComponentT], name: str) -> ComponentT:
    """Returns a component of a config.

    Raises:
      ConfigError: There is none of that name.
    """
    if name not in components:
        there = ", ".join(components) or "none"
        raise ConfigError(f"no {section} named {name!r}; there are: {there}; allowed is also package.module:name")
    return components[name]


def with_model(config: ExperimentConfig, name: str | None) -> tuple[ExperimentConfig, str]:
    """Returns a config that has a model, and the model's name there.

    Args:
      config: With models or without.
      name: Of one of them, or an import path; None: the config's only one.

    Raises:
      ConfigError: There is no such model, or it is not clear which.
    """
    if name is None:
        if len(config.models) != 1:
            there = ", ".join(config.models) or "none"
            raise ConfigError(
                f"which model? There are: {there}; allowed is --model with one of them, or an import path"
            )
        return config, next(iter(config.models))
    if not is_path(name):
        found("model", config.models, name)
        return config, name
    return config.model_copy(update={"models": {**config.models, TRIED: ModelConfig(factory=name)}}), TRIED
