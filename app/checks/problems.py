"""Finds checks of fields that there are not, before anything starts."""

from collections.abc import Mapping

from app.checks.row_fields import field_problem
from app.config.problems import Problems
from app.config.root import ExperimentConfig
from app.models.spec import ModelSpec


def check_problems(config: ExperimentConfig, specs: Mapping[str, ModelSpec]) -> Problems:
    """Returns which checks name fields that the rows of a model do not have.

    Args:
      config: With the components of its mode alone.
      specs: Of the models that could be built. A check that names no model is meant for those whose rows are kept.
    """
    kept = {agent.model for agent in config.agents.values() if agent.buffer is not None or agent.record is not None}
    kept |= {trainer.model for trainer in config.trainers.values()}
    problems: Problems = {}
    for name, check in config.checks.fields.items():
        for model in specs if check.of_learner is False else ():
            wanted = model in kept if check.model is None else model == check.model
            if wanted and (problem := field_problem(check.field, specs[model])):
                problems[f"checks.fields.{name}.field"] = f"{problem} (models.{model})"
    return problems
