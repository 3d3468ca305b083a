"""A trainer's settings with the numbers of a learning period in their places."""

from collections.abc import Mapping

from pydantic import BaseModel, ValidationError

from app.config.training import TrainerConfig


def tuned(trainer: TrainerConfig, values: Mapping[str, float]) -> TrainerConfig:
    """Returns a trainer's settings in which numbers of these names have these values.

    A name is a field of the optimizer, or of the algorithms, in each input whose algorithm has it. Other names are left
    out: they are for who plays.

    Raises:
      ValueError: A value is out of its field's range, or the field holds no such number; the message names it.
    """
    whole = trainer.model_dump()
    for name, value in values.items():
        if _has(trainer.optimizer, name):
            whole["optimizer"][name] = value
        for one, dumped in zip(trainer.inputs, whole["inputs"], strict=True):
            if _has(one.algorithm, name):
                dumped["algorithm"][name] = value
    try:
        return TrainerConfig.model_validate(whole)
    except ValidationError as error:
        first = error.errors()[0]
        raise ValueError(f"{'.'.join(map(str, first['loc']))} is {first['input']!r}: {first['msg']}") from error


def tunable(trainer: TrainerConfig, name: str) -> bool:
    """Returns whether a name is that of one of a trainer's numbers."""
    return any(_has(part, name) for part in (trainer.optimizer, *(one.algorithm for one in trainer.inputs)))


def _has(settings: BaseModel, name: str) -> bool:
    value = getattr(settings, name, None)
    return name in type(settings).model_fields and isinstance(value, float)
