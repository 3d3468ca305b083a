"""What must hold beside the schema where a config evolves a model."""

from app.config.problems import Problems
from app.config.root import ExperimentConfig


def evolution_problems(config: ExperimentConfig) -> Problems:
    """Returns why the model of the evolution section is none that can be evolved."""
    if config.evolution is None:
        return {}
    name = config.evolution.model
    model = config.models.get(name)
    if model is None:
        there = ", ".join(config.models) or "none"
        return {"evolution.model": f"no model named {name!r}; there are: {there}"}
    if not model.active_in("train"):
        return {"evolution.model": f"got models.{name}.enable {model.enable}, allowed: train or both"}
    return {}
