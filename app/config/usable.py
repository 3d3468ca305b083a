"""Whether the code, models and keys that a config names are there."""

from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from app.config.active import active
from app.config.algorithms import CustomAlgorithm, Gail
from app.config.keys import refuse_bad_keys
from app.config.problems import Problems, config_error
from app.config.root import ExperimentConfig
from app.config.sources import FactorySource
from app.config.strategies import package_problem
from app.config.training import TrainInput
from app.errors import PluginError
from app.plugins import load_plugin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MODEL_CHECK: Final = "app.model_check:model_problems"
"""Named by its path, since it needs torch, which the small install has not."""


def refuse_unusable(config: ExperimentConfig, file: Path) -> None:
    """Imports the code that a config names, builds its models and reads its keys.

    Args:
      config: Checked config.
      file: Where it was read, for the message.

    Raises:
      ConfigError: Code cannot be imported, a model cannot be built or trained, or keys cannot be read.
    """
    _import_factories(config, file)
    _build_models(config, file)
    _find_packages(config, file)
    refuse_bad_keys(config)


def _import_factories(config: ExperimentConfig, file: Path) -> None:
    problems: Problems = {}
    for place, path in _user_code(config):
        try:
            load_plugin(path)
        except PluginError as error:
            problems[place] = str(error)
    if problems:
        raise config_error(file, problems)


def _user_code(config: ExperimentConfig) -> "Iterator[tuple[str, str]]":
    """Yields the place and the import path of all code that a config names."""
    yield from ((f"models.{name}.factory", model.factory) for name, model in config.models.items())
    yield from ((f"agents.{name}.factory", agent.factory) for name, agent in config.agents.items())
    for name, agent in config.agents.items():
        yield from ((f"agents.{name}.renders.{render}", path) for render, path in agent.renders.items())
    for name, source in config.sources.items():
        if isinstance(source, FactorySource):
            yield f"sources.{name}.factory", source.factory
        if source.preprocess is not None:
            yield f"sources.{name}.preprocess", source.preprocess
    for name, trainer in config.trainers.items():
        for at, one in enumerate(trainer.inputs):
            yield from ((f"trainers.{name}.inputs.{at}.{place}", path) for place, path in _code_of_input(one))


def _code_of_input(wanted: TrainInput) -> "Iterator[tuple[str, str]]":
    """Yields the place within an input, and the import path, of all code that it names."""
    if isinstance(wanted.algorithm, CustomAlgorithm):
        yield "algorithm.factory", wanted.algorithm.factory
    if isinstance(wanted.algorithm, Gail):
        yield "algorithm.discriminator.factory", wanted.algorithm.discriminator.factory
    if wanted.rewards is not None and wanted.rewards.shaping is not None:
        yield "rewards.shaping.factory", wanted.rewards.shaping.factory


def _build_models(config: ExperimentConfig, file: Path) -> None:
    find_problems = cast("Callable[[ExperimentConfig], Problems]", load_plugin(MODEL_CHECK))
    if problems := find_problems(active(config)):
        raise config_error(file, problems)


def _find_packages(config: ExperimentConfig, file: Path) -> None:
    missing = {f"trainers.{name}": package_problem(trainer.strategy) for name, trainer in config.trainers.items()}
    if problems := {path: problem for path, problem in missing.items() if problem is not None}:
        raise config_error(file, problems)
