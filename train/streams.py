"""The inputs of one learner worker as one stream: whose batch is next, and what becomes of it."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import ray
import torch
from torch import Tensor

from app.config.training import Mixing
from app.errors import SparringError
from app.replay.mixture import Mixture
from app.types import RowKind
from train.bookmarks import Bookmark, bookmark_in, bookmark_of
from train.inputs import Input
from train.strategies.processes import Processes

SENT_MAX: Final = 8
"""Releases of credits under way before the oldest is waited for."""
SETTLE_S: Final = 60.0
"""Longest wait for a release."""
TURNS: Final = " turns"
"""Name under which the turns of the inputs are saved; no input begins with a space."""


@dataclass(frozen=True, slots=True)
class Arrived:
    """A batch of one input."""

    at: int
    """Place of the input."""
    batch: dict[str, Tensor]
    waited_s: float

    @property
    def batch_id(self) -> int:
        """Returns the batch's number, which is its input's alone."""
        return int(self.batch["batch"][0])

    @property
    def empty(self) -> bool:
        """Returns whether it holds nothing to learn from."""
        return not bool((self.batch["weight"] > 0).any())


class Streams:
    """Deals out the batches of all inputs by their weights, in the same order on every worker.

    An input that has no rows for a while sends empty batches, to all workers alike: the others wait for it, or its turn
    is lost to it, as the config says. One that has come to its end has no more turns; the stream ends with the last.
    """

    def __init__(self, inputs: Sequence[Input], weights: Sequence[float], mixing: Mixing, processes: Processes) -> None:
        """Keeps the inputs; nothing is read.

        Args:
          inputs: Where batches come from.
          weights: Of the inputs.
          mixing: What becomes of the turn of one that has nothing.
          processes: This worker and the others.
        """
        self._inputs = tuple(inputs)
        self._mixture = Mixture(weights, mixing.starving)
        self._skips = mixing.starving == "skip"
        self._processes = processes
        self._bookmarks: dict[str, Bookmark | None] = {}
        """Where the rows behind the newest batch of each input stand."""
        self._newest = [-1] * len(inputs)
        """Newest batch of each input."""
        self._releases: list[ray.ObjectRef[Any]] = []

    def __iter__(self) -> Iterator[Arrived]:
        """Yields batches, empty ones as well; release each before the next is asked for."""
        reading = [self._opened(one) for one in self._inputs]
        ended: set[int] = set()
        while len(ended) < len(reading):
            at = self._mixture.due()
            if at in ended:
                self._mixture.lose_turn()
                continue
            asked_s = time.monotonic()
            batch = next(reading[at], None)
            if batch is None:
                ended.add(at)
                continue
            arrived = Arrived(at, batch, time.monotonic() - asked_s)
            self._check_whole(arrived)
            self._newest[at], self._bookmarks[self._inputs[at].name] = arrived.batch_id, bookmark_in(batch)
            self._note_turn(arrived)
            yield arrived

    def release(self, arrived: Arrived) -> None:
        """Gives the credit of a batch back; training would go on behind it."""
        one = self._inputs[arrived.at]
        self._releases.append(one.release(self._processes.rank, arrived.batch_id))
        while len(self._releases) > SENT_MAX:
            ray.get(self._releases.pop(0), timeout=SETTLE_S)

    def finish(self) -> None:
        """Ends the streams of all workers, unless another group of them reads by now."""
        for one, newest in zip(self._inputs, self._newest, strict=True):
            one.finish(newest)

    def settle(self) -> None:
        """Waits until all credits are given back."""
        ray.get(self._releases, timeout=SETTLE_S)

    def gauges(self) -> dict[str, float]:
        """Returns the turns that each of several inputs had and lost."""
        if len(self._inputs) == 1:
            return {}
        found: dict[str, float] = {}
        for one, taken, skipped in zip(self._inputs, self._mixture.taken, self._mixture.skipped, strict=True):
            found |= {f"{one.name}/batches": float(taken), f"{one.name}/turns_lost": float(skipped)}
        return found

    def positions(self) -> dict[str, Any] | None:
        """Returns how far all workers have come, on rank 0; None on the others, which call it at the same point."""
        everyone = self._processes.gather(self._bookmarks)
        if everyone is None:
            return None
        found: dict[str, Any] = {one.name: [own.get(one.name) for own in everyone] for one in self._inputs}
        return found | {TURNS: {name: turns.tolist() for name, turns in self._mixture.state_dict().items()}}

    def go_on(self, positions: Mapping[str, Any]) -> None:
        """Begins where the workers of another start have stopped.

        Raises:
          CheckpointError: It had another number of inputs.
        """
        rank, workers = self._processes.rank, self._processes.workers
        for one in self._inputs:
            self._bookmarks[one.name] = bookmark_of(positions.get(one.name), rank, workers)
        if TURNS in positions:
            self._mixture.load_state_dict({name: np.array(turns) for name, turns in positions[TURNS].items()})

    def _opened(self, one: Input) -> Iterator[dict[str, Tensor]]:
        return iter(one.batches(self._processes.rank, self._bookmarks.get(one.name)))

    def _note_turn(self, arrived: Arrived) -> None:
        """Counts a turn; where an input that is live has nothing, it keeps its turn, or loses it."""
        if not (self._inputs[arrived.at].live and arrived.empty):
            self._mixture.take_turn()
        elif self._skips:
            self._mixture.lose_turn()

    def _check_whole(self, arrived: Arrived) -> None:
        """Raises where Ray Data cut a batch: a trajectory would lose its bootstrap row in silence."""
        batch, one = arrived.batch, self._inputs[arrived.at]
        rows, ids = len(batch["batch"]), torch.unique(batch["batch"]).tolist()
        cut = "kind" in batch and batch["kind"].ndim == 1 and int(batch["kind"][-1]) == RowKind.STEP
        if rows != one.batch_rows or len(ids) != 1 or cut:
            raise SparringError(
                f"a block of {rows} rows of the batches {ids} of {one.name} arrived instead of one batch of "
                f"{one.batch_rows}; Ray Data has cut or joined blocks"
            )
