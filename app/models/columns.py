"""The columns in which the nested parts of a model's rows travel."""

from app.models.distributions.distribution import Distribution
from app.models.spec import ArraySpec, ModelSpec
from app.nested import Structure


def nested_parts(spec: ModelSpec) -> dict[str, Structure[ArraySpec] | Structure[Distribution]]:
    """Returns what of a row is nested, by the name that its columns begin with."""
    return {"observation": spec.inputs, "action": spec.actions, "action_mask": spec.actions, "state": spec.states}


def target_columns(spec: ModelSpec) -> dict[str, int]:
    """Returns the number of choices of the policy's target, by its column; none where rows carry none."""
    return {"policy_target": spec.actions.leaves[0].choices} if spec.policy_target else {}


def mask_columns(spec: ModelSpec) -> dict[str, int]:
    """Returns the number of choices of each leaf of the action that has any, by the column of its mask."""
    names = zip(spec.actions.columns("action_mask"), spec.actions.leaves, strict=True)
    return {name: leaf.choices for name, leaf in names if leaf.choices}
