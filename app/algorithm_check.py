"""Whether the settings of an algorithm fit the model that it trains."""

from app.config.algorithms import Algorithm, CustomAlgorithm, learns_from_transitions
from app.config.from_trajectories import OwnGames
from app.models.spec import ModelSpec


def heads_problem(algorithm: Algorithm, spec: ModelSpec) -> str | None:
    """Returns why an algorithm cannot learn from the rewards that a model names; None where it can."""
    names = ", ".join(spec.rewards)
    if not isinstance(algorithm, OwnGames):
        looks_itself = isinstance(algorithm, CustomAlgorithm) and not learns_from_transitions(algorithm)
        if not names or looks_itself:
            return None
        return f"it names the rewards {names}, and {algorithm.kind} learns one value; allowed is a model without names"
    if set(algorithm.heads) == set(spec.rewards):
        return None
    got = ", ".join(algorithm.heads) or "nothing"
    if not names:
        return f"algorithm.heads names {got}, and it names no rewards; set rewards in its kwargs, or leave heads out"
    return f"algorithm.heads names {got}; allowed are exactly its rewards: {names}"
