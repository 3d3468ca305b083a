"""Algorithms of your own, named in a config by their import path."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from torch import nn

from app.algorithms.batch_columns import Batch
from app.algorithms.contract import Learner
from app.algorithms.descent import Descent, ReduceSum
from app.algorithms.passes import SequenceSettings
from app.algorithms.policy_batch import PolicyBatch
from app.algorithms.stepper import Stepper
from app.errors import PluginError
from app.models.spec import ModelSpec
from app.plugins import load_plugin

METHODS: Final = ("update", "state_dict", "load_state_dict")
"""Those of ``Learner``."""


@dataclass(frozen=True, slots=True)
class Training:
    """What an algorithm works on."""

    module: nn.Module
    """The network; where there are several workers, one that averages gradients over them. It is what a loss calls."""
    spec: ModelSpec
    """The network's shapes."""
    stepper: Stepper
    """Changes the network's parameters."""
    minibatches: int
    """Optimizer steps of one pass over a batch, the same on all workers."""
    workers: int
    """Number of workers."""
    reduce_sum: ReduceSum
    """Adds a CPU tensor up over them; all of them call it at the same point."""
    sequences: SequenceSettings
    """How trajectories are cut for a network with a state."""

    def descent(self) -> Descent:
        """Returns what takes the optimizer steps of one update, and collects their terms as metrics."""
        return Descent(self.stepper, self.workers, self.reduce_sum)

    def policy_batch(self, batch: Batch) -> PolicyBatch:
        """Returns rows of trajectories with what the policy says to them."""
        return PolicyBatch(self.module, self.spec, batch, self.sequences)


def custom_learner(factory: str, kwargs: Mapping[str, Any], training: Training) -> Learner:
    """Returns the learner that a factory makes of a ``Training`` and its keyword arguments.

    Args:
      factory: Import path of a callable.
      kwargs: Its keyword arguments.
      training: Its first argument.

    Raises:
      PluginError: There is no such callable, it takes other arguments, or what it returns is no ``Learner``.
      ValueError: It cannot train such a model.
    """
    make = load_plugin(factory)
    if not callable(make):
        raise PluginError(f"{factory!r} is not callable, it is a {type(make).__name__}")
    try:
        learner = make(training, **kwargs)
    except TypeError as error:
        raise PluginError(f"{factory!r} cannot be called with a Training and {dict(kwargs)}: {error}") from error
    missing = [name for name in METHODS if not callable(getattr(learner, name, None))]
    if missing:
        raise PluginError(f"{factory!r} returned a {type(learner).__name__} without {', '.join(missing)}")
    return cast("Learner", learner)
