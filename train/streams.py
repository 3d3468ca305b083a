"""The inputs of one learner worker as one stream: whose batch is next, and what becomes of it."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import ray
import torch
from torch import Tensor

from app.config.training import Mixing
from app.errors import SparringError
from app.replay.mixture import Mixture
from app.stores.buffer_store import EMPTY_ROUND
from app.types import RowKind
from train.bookmarks import bookmark_in, needed, place_of
from train.inputs import Input
from train.strategies.processes import Processes

if TYPE_CHECKING:
    from app.sources.position import Place, Position

SENT_MAX: Final = 8
"""Releases of credits under way before the oldest is waited for."""
SETTLE_S: Final = 60.0
"""Longest wait for a release."""
TURNS: Final = " turns"
"""Name under which the turns of the inputs are saved; no input begins with a space."""
PAST: Final = " past"
"""Name under which the positions of groups of another number of workers are saved."""


@dataclass(frozen=True, slots=True)
class Arrived:
    """A batch of one input."""

    at: int
    """Place of the input."""
    batch: dict[str, Tensor]
    waited_s: float
    starving: bool
    """Whether the input has nothing for now, on all workers alike: there is nothing to learn from."""

    @property
    def batch_id(self) -> int:
        """Returns the batch's number, which is its input's alone."""
        return int(self.batch["batch"][0])


class Streams:
    """Deals out the batches of all inputs, by turns or all at once, in the same order on every worker.

    An input that has no rows for a while sends empty batches, to all workers alike: the others wait for it, or go on
    without it, as the config says. One that has come to its end is left out; the stream ends with the last.
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
        self._mixture = Mixture(weights)
        self._skips = mixing.starving == "skip"
        self._all_at_once = mixing.steps == "together" and len(inputs) > 1
        self._reading: list[Iterator[dict[str, Tensor]]] = []
        self._ended: set[int] = set()
        self._processes = processes
        self._positions: dict[str, Position | None] = {}
        """Where the rows behind the newest batch of each input stand."""
        self._places: dict[str, Place | None] = {}
        """Where the inputs are taken up."""
        self._newest = [-1] * len(inputs)
        """Newest batch of each input."""
        self._releases: list[ray.ObjectRef[Any]] = []

    def __iter__(self) -> Iterator[list[Arrived]]:
        """Yields what an update learns from, or an empty batch alone; release each before the next is asked for."""
        self._reading = [iter(one.batches(self._processes.rank, self._places.get(one.name))) for one in self._inputs]
        self._ended.clear()
        return self._together() if self._all_at_once else self._in_turn()

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
        if len(self._inputs) == 1 or self._all_at_once:
            return {}
        found: dict[str, float] = {}
        for one, taken, skipped in zip(self._inputs, self._mixture.taken, self._mixture.skipped, strict=True):
            found |= {f"{one.name}/batches": float(taken), f"{one.name}/turns_lost": float(skipped)}
        return found

    def positions(self) -> dict[str, Any] | None:
        """Returns how far all workers have come, on rank 0; None on the others, which call it at the same point."""
        everyone = self._processes.gather(self._positions)
        if everyone is None:
            return None
        found: dict[str, Any] = {TURNS: {name: turns.tolist() for name, turns in self._mixture.state_dict().items()}}
        past: dict[str, Any] = {}
        for one in self._inputs:
            positions = [own.get(one.name) for own in everyone]
            found[one.name] = [None if position is None else tuple(position) for position in positions]
            place = self._places.get(one.name)
            past[one.name] = needed(() if place is None else place.past, positions)
        return found | {PAST: past}

    def go_on(self, positions: Mapping[str, Any]) -> None:
        """Begins where the workers of another start have stopped.

        Raises:
          CheckpointError: It had another number of inputs.
        """
        rank, workers = self._processes.rank, self._processes.workers
        for one in self._inputs:
            past = positions.get(PAST, {}).get(one.name, ())
            place = self._places[one.name] = place_of(positions.get(one.name), past, rank, workers)
            self._positions[one.name] = None if place is None else place.position
        if TURNS in positions:
            self._mixture.load_state_dict({name: np.array(turns) for name, turns in positions[TURNS].items()})

    def _in_turn(self) -> Iterator[list[Arrived]]:
        while len(self._ended) < len(self._inputs):
            at = self._mixture.due()
            arrived = self._next(at)
            if arrived is None:
                self._mixture.lose_turn()
                continue
            if not arrived.starving:
                self._mixture.take_turn()
            elif self._skips:
                self._mixture.lose_turn()
            yield [arrived]

    def _together(self) -> Iterator[list[Arrived]]:
        while len(self._ended) < len(self._inputs):
            turn: list[Arrived] = []
            for at in range(len(self._inputs)):
                while (arrived := self._next(at)) is not None and arrived.starving:
                    yield [arrived]
                    if self._skips:
                        break
                if arrived is not None and not arrived.starving:
                    turn.append(arrived)
            if turn:
                yield turn

    def _next(self, at: int) -> Arrived | None:
        """Returns an input's next batch; None where it has come to its end."""
        if at in self._ended:
            return None
        asked_s = time.monotonic()
        batch = next(self._reading[at], None)
        if batch is None:
            self._ended.add(at)
            return None
        starving = self._inputs[at].live and bool(batch[EMPTY_ROUND][0])
        arrived = Arrived(at, batch, time.monotonic() - asked_s, starving)
        self._check_whole(arrived)
        self._newest[at], self._positions[self._inputs[at].name] = arrived.batch_id, bookmark_in(batch)
        return arrived

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
