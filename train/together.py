"""Updates of several learners whose optimizer steps are one: the losses are added up, and the network changes once."""

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

import torch
from torch import Tensor

from app.algorithms.contract import Learned, Learner
from app.algorithms.stepper import Stepper
from app.errors import TrainingError

TIMEOUT_S: Final = 600.0
"""Longest minibatch of one learner; one that takes longer hangs."""


class Part(NamedTuple):
    """One learner's share of an update."""

    learner: Learner
    batch: Mapping[str, Tensor]
    shuffle: torch.Generator


class Shared:
    """A stepper that waits for the losses of the others; see ``Stepper``."""

    def __init__(self, stepper: Stepper, weight: float) -> None:
        """Makes the stepper of one learner.

        Args:
          stepper: Changes the network; the same one for all learners.
          weight: What the learner's loss is multiplied by.
        """
        self.weight = weight
        self.stepper = stepper
        self._baton: _Baton | None = None

    def step(self, loss: Tensor) -> float | None:
        """Puts a loss down and returns what came of the step that all took together; alone it steps at once."""
        weighted = loss * self.weight
        return self.stepper.step(weighted) if self._baton is None else self._baton.put(weighted)

    def join(self, baton: "_Baton | None") -> None:
        """Waits for others from now on; None for nobody."""
        self._baton = baton


def update_together(parts: Sequence[Part], steppers: Sequence[Shared]) -> list[Learned]:
    """Returns what came of an update by several learners, in their order.

    Each works up to its next optimizer step, one after another, so that all that is random is drawn in the same order
    every time; then one step is taken on the sum of their losses. One that takes fewer steps leaves the rest to others.

    Args:
      parts: What each learns from.
      steppers: Of each learner.

    Raises:
      Exception: What a learner has raised; the others are ended.
    """
    runs = [_Run(part, shared) for part, shared in zip(parts, steppers, strict=True)]
    try:
        open_ = runs
        while open_:
            for run in open_:
                run.go_on()
            open_ = [run for run in open_ if run.learned is None]
            if open_:
                losses = [run.baton.loss for run in open_ if run.baton.loss is not None]
                norm = steppers[0].stepper.step(torch.stack([loss.to(losses[0].device) for loss in losses]).sum())
                for run in open_:
                    run.baton.norm = norm
    finally:
        for run in runs:
            run.close()
    return [run.learned for run in runs if run.learned is not None]


class _Ended(BaseException):
    """Unwinds a learner whose update is given up."""


class _Baton:
    """Lets one of two threads work at a time: the one that drives, or the learner's."""

    def __init__(self) -> None:
        self.loss: Tensor | None = None
        self.norm: float | None = None
        self.given_up = False
        self._mine, self._theirs = threading.Semaphore(0), threading.Semaphore(0)

    def put(self, loss: Tensor) -> float | None:
        """Hands a loss over and waits for the step; called by the learner."""
        self.loss = loss
        self._mine.release()
        self.begin()
        return self.norm

    def begin(self) -> None:
        """Waits until the learner may work."""
        _wait(self._theirs)
        if self.given_up:
            raise _Ended

    def end(self) -> None:
        """Says that the learner's update is over."""
        self._mine.release()

    def let_work(self) -> None:
        """Lets the learner work up to its next step, or to its end."""
        self._theirs.release()
        _wait(self._mine)

    def give_up(self) -> None:
        """Ends the learner at its step."""
        self.given_up = True
        self._theirs.release()


class _Run:
    """The update of one learner, in a thread that works only while it is let."""

    def __init__(self, part: Part, shared: Shared) -> None:
        self.baton = _Baton()
        self.learned: Learned | None = None
        self._shared = shared
        self._error: BaseException | None = None
        shared.join(self.baton)
        work: Callable[[], Learned] = lambda: part.learner.update(part.batch, part.shuffle)  # noqa: E731
        self._thread = threading.Thread(target=self._work, args=(work,), daemon=True)
        self._thread.start()

    def go_on(self) -> None:
        """Lets it work up to its next step, or to its end."""
        self.baton.let_work()
        if self._error is not None:
            raise self._error

    def close(self) -> None:
        """Ends it, wherever it is."""
        self._shared.join(None)
        if self._thread.is_alive():
            self.baton.give_up()
        self._thread.join(TIMEOUT_S)

    def _work(self, work: Callable[[], Learned]) -> None:
        try:
            self.baton.begin()
            self.learned = work()
        except _Ended:
            return
        except BaseException as error:  # noqa: BLE001  # Raised where the update was asked for.
            self._error = error
        self.baton.end()


def _wait(semaphore: threading.Semaphore) -> None:
    if not semaphore.acquire(timeout=TIMEOUT_S):
        raise TrainingError(f"a learner did not come to its next optimizer step within {TIMEOUT_S:g} s")
