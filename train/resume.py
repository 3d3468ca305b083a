"""What a run that was killed needs to go on as if it had not been, besides counters."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from train.learners import Learners
from train.random_state import random_state, set_random_state
from train.strategies.processes import Processes
from train.strategies.strategy import Trained, TrainedState


@dataclass(frozen=True, slots=True)
class Progress:
    """Network, optimizer, learner and random generators, of all workers."""

    trained: TrainedState
    learner: Mapping[str, Any] = field(default_factory=dict)
    """What the learner keeps besides the network; empty where it keeps nothing."""
    random: tuple[Mapping[str, Any], ...] = ()
    """The random generators of each worker, by rank."""


def progress_of(trained: Trained, learner: Learners, processes: Processes) -> Progress | None:
    """Returns where training stands, on rank 0; None on the other workers, all of which call it at the same point.

    Raises:
      RuntimeError: Another worker is gone.
    """
    state = trained.state()
    randoms = processes.gather(random_state())
    if state is None or randoms is None:
        return None
    return Progress(state, learner.state_dict(), tuple(randoms))


def go_on(progress: Progress, trained: Trained, learner: Learners, rank: int) -> None:
    """Puts a worker where the one of the same rank stood; the weights are already in the network that was wrapped.

    A worker of a rank that there was not keeps its own random generators.

    Raises:
      CheckpointError: The state is of another strategy or number of workers.
    """
    trained.load(progress.trained)
    if progress.learner:
        learner.load_state_dict(progress.learner)
    if rank < len(progress.random):
        set_random_state(progress.random[rank])
