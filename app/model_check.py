"""Builds the models of a config, and refuses what its trainers cannot train, before anything starts."""

from collections.abc import Mapping
from copy import deepcopy

from torch import nn

from app.algorithm_check import heads_problem
from app.algorithms.adversarial import make_discriminator
from app.algorithms.custom import Training, custom_learner
from app.algorithms.learner import policy_problem
from app.algorithms.normalising import value_scale
from app.algorithms.passes import SequenceSettings
from app.algorithms.shaping import make_shaping
from app.algorithms.stepper import Still
from app.algorithms.trpo import trpo_problem
from app.checks.problems import check_problems
from app.config.algorithms import Algorithm, AlphaZero, CustomAlgorithm, Gail, learns_from_transitions
from app.config.from_trajectories import Online
from app.config.off_policy import Cql, Ddpg, Dqn, Iql, Sac, Td3
from app.config.problems import Problems, combined, config_error
from app.config.root import ExperimentConfig
from app.config.strategies import DeepSpeed, Fsdp
from app.config.tables import TransitionItem
from app.config.training import TrainerConfig, TrainInput
from app.config.trust_region import Trpo
from app.errors import PluginError
from app.models.action_values import values_problem
from app.models.critics import critics_problem
from app.models.module import build_module, spec_of
from app.models.spec import ModelSpec
from app.stores.buffer_settings import buffer_settings, table_mb
from app.stores.supplies import check_supply


def build_models(config: ExperimentConfig) -> dict[str, nn.Module]:
    """Returns each model's module with its first parameters.

    Args:
      config: With the components of its mode alone.

    Raises:
      PluginError: A factory is missing or returns no model.
      ConfigError: A trainer cannot train its model, or a buffer would wait for ever.
    """
    modules = {name: _build(config, name) for name in config.models}
    for trainer in config.trainers:
        _refuse_untrainable(config, trainer, modules[config.trainers[trainer].model])
    specs = {name: spec_of(module) for name, module in modules.items()}
    if problems := combined(buffer_problems(config), saving_problems(config, specs), check_problems(config, specs)):
        raise config_error(f"{config.run.project}.{config.run.trial}", problems)
    return modules


def trained_spec(config: ExperimentConfig, trainer: str) -> ModelSpec:
    """Returns the spec of the model that a trainer trains.

    Raises:
      PluginError: The factory is missing or returns no model.
      ConfigError: The trainer cannot train it.
    """
    module = _build(config, config.trainers[trainer].model)
    _refuse_untrainable(config, trainer, module)
    return spec_of(module)


def model_problems(config: ExperimentConfig) -> Problems:
    """Returns what is wrong with the models of a config, and with training them.

    Args:
      config: With the components of its mode alone; the factories can be imported.
    """
    problems: Problems = {}
    modules: dict[str, nn.Module] = {}
    for name in config.models:
        try:
            modules[name] = _build(config, name)
        except Exception as error:  # noqa: BLE001  # The user's factory may raise anything.
            problems[f"models.{name}"] = f"{type(error).__name__}: {error}"
    for trainer, settings in config.trainers.items():
        if settings.model in modules and (problem := _problem(settings, modules[settings.model])):
            problems[f"trainers.{trainer}.model"] = problem
    specs = {name: spec_of(module) for name, module in modules.items()}
    parts = (buffer_problems(config), item_problems(config), saving_problems(config, specs))
    return combined(problems, *parts, evolution_problems(config, specs), check_problems(config, specs))


def evolution_problems(config: ExperimentConfig, specs: Mapping[str, ModelSpec]) -> Problems:
    """Returns why the model of the evolution section cannot be evolved.

    Args:
      config: With the components of its mode alone.
      specs: Of the models that could be built.
    """
    if config.evolution is None or config.evolution.model not in specs:
        return {}
    problem = policy_problem(specs[config.evolution.model])
    return (
        {} if problem is None else {"evolution.model": f"models.{config.evolution.model} cannot be evolved: {problem}"}
    )


def item_problems(config: ExperimentConfig) -> Problems:
    """Returns which inputs get something else from their buffers than their algorithms learn from."""
    problems: Problems = {}
    for trainer, settings in config.trainers.items():
        for number, one in enumerate(settings.inputs):
            if one.buffer is None or one.buffer not in config.buffers:
                continue
            table = config.buffers[one.buffer].table
            cuts = table is not None and isinstance(table.item, TransitionItem)
            if cuts and one.rewards is not None:
                problems[f"trainers.{trainer}.inputs.{number}.rewards"] = (
                    f"buffers.{one.buffer} hands out transitions, whose rewards are summed up already; allowed is null"
                )
            if learns_from_transitions(one.algorithm) and not cuts:
                allowed = (
                    f"a buffer with a table of transitions; set buffers.{one.buffer}.table.item.kind to transition"
                )
            elif cuts and not learns_from_transitions(one.algorithm):
                allowed = f"a buffer without a table, or with one of sequences: buffers.{one.buffer}.table.item"
            else:
                continue
            got = f"{one.algorithm.kind} with {'transitions' if cuts else 'trajectories'}"
            problems[f"trainers.{trainer}.inputs.{number}.buffer"] = f"got {got}, allowed is {allowed}"
    return problems


def buffer_problems(config: ExperimentConfig) -> Problems:
    """Returns which buffers of a config would wait for ever."""
    problems: Problems = {}
    for name, buffer in config.buffers.items():
        try:
            check_supply(buffer_settings(config, name))
        except ValueError as error:
            shards = f" (of one of {buffer.shards} shards)" if buffer.shards > 1 else ""
            part = "capacity_rows" if buffer.table is None else "table"
            problems[f"buffers.{name}.{part}"] = f"{error}{shards}"
    return problems


def saving_problems(config: ExperimentConfig, specs: Mapping[str, ModelSpec]) -> Problems:
    """Returns which tables are too large to be saved.

    Args:
      config: With the components of its mode alone.
      specs: Of the models that could be built.
    """
    problems: Problems = {}
    for settings in config.trainers.values():
        names = [one.buffer for one in settings.inputs if one.buffer in config.buffers]
        for name in names if settings.model in specs else []:
            table = config.buffers[str(name)].table
            if table is None or table.save is None:
                continue
            size_mb = table_mb(specs[settings.model], table)
            if size_mb > table.save.max_mb:
                problems[f"buffers.{name}.table.save.max_mb"] = (
                    f"got {table.save.max_mb:g}, and a full table of {table.capacity_items} items takes {size_mb:.0f}; "
                    "allowed is at least that, a smaller capacity_items, or save: null"
                )
    return problems


def _build(config: ExperimentConfig, name: str) -> nn.Module:
    model = config.models[name]
    return build_module(model.factory, model.kwargs, config.run.seed)


def _refuse_untrainable(config: ExperimentConfig, trainer: str, module: nn.Module) -> None:
    if problem := _problem(config.trainers[trainer], module):
        where = f"{config.run.project}.{config.run.trial}"
        raise config_error(where, {f"trainers.{trainer}.model": problem})


def _problem(trainer: TrainerConfig, module: nn.Module) -> str | None:
    """Returns why a trainer cannot train a model, by the first of its inputs that cannot; None where all can."""
    for one in trainer.inputs:
        if problem := untrainable(one.algorithm, module):
            return f"{one.algorithm.kind} cannot train models.{trainer.model}: {problem}"
        if problem := _shaping_problem(one):
            return f"its rewards cannot be shaped: {problem}"
        if problem := _discriminator_problem(one, spec_of(module)):
            return f"its expert's moves cannot be told apart: {problem}"
    if value_scale(module) is not None:
        return _scale_problem(trainer)
    return None


def _shaping_problem(wanted: TrainInput) -> str | None:
    """Returns why the hook of an input cannot be made."""
    shaping = None if wanted.rewards is None else wanted.rewards.shaping
    if shaping is None:
        return None
    try:
        make_shaping(shaping.factory, shaping.kwargs)
    except Exception as error:  # noqa: BLE001  # Code of the user's own may raise anything.
        return str(error) if isinstance(error, PluginError | ValueError) else f"{type(error).__name__}: {error}"
    return None


def _scale_problem(trainer: TrainerConfig) -> str | None:
    """Returns why a value whose head changes between two optimizer steps cannot be trained so."""
    if isinstance(trainer.strategy, Fsdp | DeepSpeed):
        return (
            f"popart changes the head of the value whole, which strategy {trainer.strategy.kind} splits or keeps a "
            "copy of; allowed are ddp and local_multi_gpu"
        )
    if trainer.optimizer.ema_decay is not None:
        got = trainer.optimizer.ema_decay
        return f"popart changes the scale at which weights stand, got optimizer.ema_decay {got}, allowed is null"
    return None


def untrainable(algorithm: Algorithm, module: nn.Module) -> str | None:
    """Returns why an algorithm cannot train a model; None where it can."""
    spec = spec_of(module)
    if problem := heads_problem(algorithm, spec):
        return problem
    return trpo_problem(module, spec) if isinstance(algorithm, Trpo) else _problem_of_kind(algorithm, module)


def _problem_of_kind(algorithm: Algorithm, module: nn.Module) -> str | None:
    spec = spec_of(module)
    match algorithm:
        case Dqn() | Cql():
            return values_problem(module, spec)
        case Sac() | Iql():
            return critics_problem(module, spec, numbers_alone=False)
        case Td3() | Ddpg():
            return critics_problem(module, spec, numbers_alone=True)
        case CustomAlgorithm():
            return _custom_problem(algorithm, module)
        case Online() if len(spec.states) and (algorithm.teacher is not None or algorithm.first_policy_coef):
            return "teacher and first_policy_coef compare single ticks, and it carries a state"
        case _:
            return policy_problem(spec, towards_target=isinstance(algorithm, AlphaZero))


def _discriminator_problem(wanted: TrainInput, spec: ModelSpec) -> str | None:
    """Returns why the network that is to tell an expert's moves apart cannot be made."""
    if not isinstance(wanted.algorithm, Gail):
        return None
    if spec.rewards:
        return f"gail pays one reward of its own, and the model names {', '.join(spec.rewards)}; allowed are none"
    own = wanted.algorithm.discriminator
    try:
        make_discriminator(own.factory, own.kwargs, spec, seed=0)
    except Exception as error:  # noqa: BLE001  # Code of the user's own may raise anything.
        return str(error) if isinstance(error, PluginError | ValueError) else f"{type(error).__name__}: {error}"
    return None


def _custom_problem(algorithm: CustomAlgorithm, module: nn.Module) -> str | None:
    """Returns why an algorithm of somebody's own makes no learner of a model: it is made once, of a copy."""
    sequences = SequenceSettings(algorithm.sequence_ticks, algorithm.burn_in_ticks)
    training = Training(deepcopy(module), spec_of(module), Still(), 1, 1, lambda x: x, sequences)
    try:
        custom_learner(algorithm.factory, algorithm.kwargs, training)
    except Exception as error:  # noqa: BLE001  # Code of the user's own may raise anything.
        return str(error) if isinstance(error, PluginError | ValueError) else f"{type(error).__name__}: {error}"
    return None
