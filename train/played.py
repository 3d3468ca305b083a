"""Variants of a config: with fewer updates, and serving fixed weights."""

from collections.abc import Mapping
from typing import Final

from app.config.root import ExperimentConfig
from app.errors import ConfigError
from app.models.checkpoints import CHECKPOINTS, LATEST
from app.models.pool import CLONES

SERVED: Final = "_served"
"""Ends the name of the trial that serves what another has trained: both may keep stores at the same time."""


def limited(config: ExperimentConfig, max_updates: int | None) -> ExperimentConfig:
    """Returns the config with trainers that end after so many updates; None leaves them as they are.

    Raises:
      ConfigError: The number is not positive.
    """
    if max_updates is None:
        return config
    if max_updates < 1:
        raise ConfigError(f"max_updates is {max_updates}; allowed: 1 or more, or None")
    trainers = {name: t.model_copy(update={"max_updates": max_updates}) for name, t in config.trainers.items()}
    return config.model_copy(update={"trainers": trainers})


def deployed(config: ExperimentConfig, weights: Mapping[str, str]) -> ExperimentConfig:
    """Returns the config that plays fixed weights, as a trial of its own.

    Args:
      config: Of the trial that the weights are of.
      weights: Names of weights by model; the other models play what the config says.
    """
    run = config.run.model_copy(update={"mode": "deploy", "trial": f"{config.run.trial}{SERVED}"})
    models = {
        name: model.model_copy(update={"checkpoint": _of_trial(weights.get(name, model.checkpoint), config.run.trial)})
        for name, model in config.models.items()
    }
    return config.model_copy(update={"run": run, "models": models})


def trained_model(config: ExperimentConfig) -> str:
    """Returns the name of the model that is trained; without a trainer that of the only model.

    Raises:
      ConfigError: It is not clear which one is meant.
    """
    models = list(dict.fromkeys(trainer.model for trainer in config.trainers.values())) or list(config.models)
    if len(models) != 1:
        raise ConfigError(f"it is not clear which model is meant; there are: {', '.join(models) or 'none'}")
    return models[0]


def as_played(what: str) -> str:
    """Returns the name of a model for what ``--restore`` takes: ``latest`` and numbers are checkpoints."""
    return f"{CHECKPOINTS}/{what}" if what == LATEST or what.isdecimal() else what


def _of_trial(name: str | None, trial: str) -> str | None:
    """Returns a name as another trial of the project must write it."""
    if name is not None and name.startswith((f"{CHECKPOINTS}/", f"{CLONES}/")):
        return f"{trial}/{name}"
    return name
