"""What travels from the driver to each learner worker.

The trainer's controller unpickles it too, and imports no more than this module for it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from app.config.root import ExperimentConfig
from train.saving import SavingArgs


@dataclass(frozen=True, slots=True)
class LoopArgs:
    """What the driver gives to each worker."""

    config: ExperimentConfig
    trainer: str
    namespace: str
    saving: SavingArgs
    run: str
    """The driver's start."""
    teachers: Mapping[int, str] = field(default_factory=dict)
    """Folders of frozen policies, by the places of the inputs whose algorithms name one."""
