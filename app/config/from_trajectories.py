"""What algorithms share that learn from rows of trajectories."""

from pydantic import Field, field_validator

from app.config.base import Config


class Sequential(Config):
    """How the rows of a batch become optimizer steps."""

    minibatch_rows: int = Field(256, ge=1)
    """Rows of one optimizer step."""

    sequence_ticks: int = Field(32, ge=1)
    """Of a model with a state: longest run of ticks that gradients go back through."""

    burn_in_ticks: int = Field(0, ge=0)
    """Of a model with a state: ticks in front of such a run, where the trajectory has them, that bring the stored state
    up to date and teach nothing."""


class FromTrajectories(Sequential):
    """What all algorithms that learn from rows of trajectories share."""

    gamma: float = Field(0.99, gt=0, le=1)
    """Discount per tick."""

    value_coef: float = Field(0.5, ge=0)
    """Weight of the value loss."""

    entropy_coef: float = Field(0.01, ge=0)
    """Weight of the entropy bonus."""

    epochs: int = Field(1, ge=1)
    """Passes over each batch."""


class Teacher(Config):
    """A policy that stays as it is, and that the one that learns is kept near (Schmitt et al., 2018)."""

    checkpoint: str
    """Its weights, as under ``models.<name>.checkpoint``: a registered version, a clone, a checkpoint by its number, or
    a folder. Its network is the one that it was saved with."""

    first: float = Field(1.0, ge=0)
    """Weight of the divergence from it, KL(teacher ‖ policy), at the first update."""

    last: float = Field(0.0, ge=0)
    """The weight in the end."""

    updates: int = Field(1000, ge=1)
    """Updates until then, in a straight line."""

    @field_validator("checkpoint")
    @classmethod
    def _stays(cls, reference: str) -> str:
        if reference.rpartition("/")[2] == "latest":
            raise ValueError(f"got {reference!r}, which moves while training goes on; allowed is one that stays")
        return reference


class ValueHead(Config):
    """What one of several named rewards counts."""

    weight: float = Field(1.0, allow_inf_nan=False)
    """Weight of its advantage in the policy's; 0: its value is learned, and moves nothing."""

    gamma: float | None = Field(None, gt=0, le=1)
    """Discount per tick; null: the algorithm's."""

    advantage_lambda: float | None = Field(None, ge=0, le=1)
    """In place of the algorithm's ``gae_lambda`` or ``trace_lambda``; null: that one."""


class OwnGames(FromTrajectories):
    """What the algorithms share whose rows the model's own games brought."""

    heads: dict[str, ValueHead] = {}
    """Of a model that names its rewards: what each counts, by name, all of them. Empty where there is one reward."""

    value_lambda: float | None = Field(None, ge=0, le=1)
    """Mixing of one-step (0) and Monte Carlo (1) returns in the targets of the value, where it is to be another one
    than in the advantages; these targets, TD(λ), are not corrected for older policies. null: the targets are those that
    belong to the advantages."""

    upgo_coef: float = Field(0.0, ge=0)
    """Weight of upgoing advantages (Vinyals et al., 2019) on top of the others: they follow what happened for as long
    as it went better than expected. 0 adds none."""

    @field_validator("heads")
    @classmethod
    def _move_the_policy(cls, heads: dict[str, ValueHead]) -> dict[str, ValueHead]:
        if heads and all(head.weight == 0 for head in heads.values()):
            raise ValueError("all weights are 0, so nothing would move the policy; allowed is one that is not 0")
        return heads


class Online(OwnGames):
    """What the algorithms share that may be kept near another policy."""

    teacher: Teacher | None = None
    """Policy that this one is kept near; null: none."""

    first_policy_coef: float = Field(0.0, ge=0)
    """Weight of the divergence from the policy that training began with, KL(policy ‖ first policy), so that it does not
    wander off; a run that goes on keeps the first one. 0 adds none."""
