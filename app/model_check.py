"""Builds the models of a config, and refuses what its trainers cannot train, before anything starts."""

from torch import nn

from app.algorithms.learner import policy_problem
from app.config.problems import Problems, config_error
from app.config.root import ExperimentConfig
from app.config.training import TrainerConfig
from app.models.module import build_module, spec_of
from app.models.spec import ModelSpec


def build_models(config: ExperimentConfig) -> dict[str, nn.Module]:
    """Returns each model's module with its first parameters.

    Args:
      config: With the components of its mode alone.

    Raises:
      PluginError: A factory is missing or returns no model.
      ConfigError: A trainer cannot train its model.
    """
    modules = {name: _build(config, name) for name in config.models}
    for trainer in config.trainers:
        _refuse_untrainable(config, trainer, spec_of(modules[config.trainers[trainer].model]))
    return modules


def trained_spec(config: ExperimentConfig, trainer: str) -> ModelSpec:
    """Returns the spec of the model that a trainer trains.

    Raises:
      PluginError: The factory is missing or returns no model.
      ConfigError: The trainer cannot train it.
    """
    spec = spec_of(_build(config, config.trainers[trainer].model))
    _refuse_untrainable(config, trainer, spec)
    return spec


def model_problems(config: ExperimentConfig) -> Problems:
    """Returns what is wrong with the models of a config, and with training them.

    Args:
      config: With the components of its mode alone; the factories can be imported.
    """
    problems: Problems = {}
    specs: dict[str, ModelSpec] = {}
    for name in config.models:
        try:
            specs[name] = spec_of(_build(config, name))
        except Exception as error:  # noqa: BLE001  # The user's factory may raise anything.
            problems[f"models.{name}"] = f"{type(error).__name__}: {error}"
    for trainer, settings in config.trainers.items():
        if settings.model in specs and (problem := policy_problem(specs[settings.model])):
            problems[f"trainers.{trainer}.model"] = _told(settings, problem)
    return problems


def _build(config: ExperimentConfig, name: str) -> nn.Module:
    model = config.models[name]
    return build_module(model.factory, model.kwargs, config.run.seed)


def _refuse_untrainable(config: ExperimentConfig, trainer: str, spec: ModelSpec) -> None:
    if problem := policy_problem(spec):
        where = f"{config.run.project}.{config.run.trial}"
        raise config_error(where, {f"trainers.{trainer}.model": _told(config.trainers[trainer], problem)})


def _told(trainer: TrainerConfig, problem: str) -> str:
    return f"{trainer.inputs[0].algorithm.kind} cannot train models.{trainer.model}: {problem}"
