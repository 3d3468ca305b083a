"""What only one component may have for itself."""

from collections import defaultdict

from app.config.problems import Problems
from app.config.root import ExperimentConfig


def sharing_problems(config: ExperimentConfig) -> Problems:
    """Returns the models that several trainers train, and the buffers that several inputs read.

    A model's weights have one publisher, and a row of a buffer is learned from in one place.
    """
    models: dict[str, list[str]] = defaultdict(list)
    buffers: dict[str, list[str]] = defaultdict(list)
    for name, trainer in config.trainers.items():
        models[trainer.model].append(f"trainers.{name}.model")
        for place, wanted in enumerate(trainer.inputs):
            if wanted.buffer is not None:
                buffers[wanted.buffer].append(f"trainers.{name}.inputs.{place}.buffer")
    return _shared("model", models) | _shared("buffer", buffers)


def _shared(kind: str, users: dict[str, list[str]]) -> Problems:
    return {
        others[0]: f"{kind} {name!r} is {first}'s already, allowed: a {kind} of its own"
        for name, (first, *others) in users.items()
        if others
    }
