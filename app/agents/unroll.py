"""Turns the ticks of one session into trajectories."""

from collections.abc import Callable
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from app.models.queue import Decision
from app.types import RowKind, Version
from app.wire.trees import Tree


class Step(NamedTuple):
    """An observation and what was decided about it; its reward is still to come."""

    observation: NDArray[np.generic]
    mask: NDArray[np.bool_]
    decision: Decision


class Row(NamedTuple):
    """One row of a trajectory, in the order of the columns of ``app.replay.rows``."""

    observation: NDArray[np.generic]
    action: int
    action_mask: NDArray[np.bool_]
    reward: float
    log_prob: float
    value: float
    kind: int
    weight: float
    generation: int
    version: int
    episode: int
    tick: int


class Unroll:
    """Collects the rows of one session and hands over whole trajectories.

    A row is complete when the reward of its action is known, with the next tick or the stop. A trajectory is handed
    over as soon as it is full and the observation that follows is known, or when it ends.
    """

    def __init__(self, episode: int, ticks: int | None, emit: Callable[[list[Row]], None]) -> None:
        """Begins an episode.

        Args:
          episode: Number that no other episode has.
          ticks: Rows of a full trajectory; None never cuts a game that goes on.
          emit: Takes each trajectory, its bootstrap row last.
        """
        self._episode = episode
        self._ticks = ticks
        self._emit = emit
        self._rows: list[Row] = []
        self._pending: Step | None = None
        self._tick = 0

    def reward(self, reward: float) -> None:
        """Completes the pending row with the reward of its action; without one there is nothing to do."""
        if self._pending is None:
            return
        step, self._pending = self._pending, None
        if step.decision.version.generation > 0:  # The untrained model's ticks are answered, not learned from.
            self._rows.append(self._row(step, reward, RowKind.STEP))
        self._tick += 1

    def reached(self, observation: NDArray[np.generic]) -> None:
        """Notes the next observation: a full trajectory is handed over."""
        if self._ticks is not None and len(self._rows) >= self._ticks:
            self.cut(RowKind.FULL, observation)

    def decided(self, step: Step) -> None:
        """Notes what was decided; the row waits for its reward."""
        self._pending = step

    def cut(self, kind: RowKind, observation: NDArray[np.generic] | None) -> None:
        """Ends the trajectory and hands it over.

        Args:
          kind: How it ends; not ``STEP``.
          observation: State reached after the last row; None where it never arrived. Then the last state that did
            arrive takes its place, and a row that was acted in it is dropped; a terminated one loses nothing.
        """
        rows, self._rows = self._rows, []
        pending, self._pending = self._pending, None
        if observation is None and pending is not None:
            observation = pending.observation
        if not rows:
            return
        if observation is None:
            observation = rows[-1].observation
            if kind is not RowKind.TERMINATED:
                del rows[-1]
        if rows:
            nothing = Decision(0, 0.0, 0.0, Version(rows[-1].generation, rows[-1].version))
            end = self._row(Step(observation, rows[-1].action_mask, nothing), 0.0, kind)
            rows.append(end._replace(tick=rows[-1].tick + 1))
            self._emit(rows)

    def skip(self, ticks: int) -> None:
        """Leaves numbers free for ticks that were played elsewhere, so that no two rows carry the same."""
        self._tick += ticks

    def state_dict(self) -> Tree:
        """Returns all that the next tick depends on."""
        columns: Tree = {name: np.array([row[at] for row in self._rows]) for at, name in enumerate(Row._fields)}
        pending: Tree = None
        if self._pending is not None:
            (observation, mask, (action, log_prob, value, version)) = self._pending
            pending = [observation, mask, action, log_prob, value, version.generation, version.number]
        return {"episode": self._episode, "tick": self._tick, "columns": columns, "pending": pending}

    def load_state_dict(self, state: Tree) -> None:
        """Takes over what another replica has collected."""
        held = cast("dict[str, Any]", state)
        self._episode, self._tick = held["episode"], held["tick"]
        columns = [column if column.ndim > 1 else column.tolist() for column in held["columns"].values()]
        self._rows = [Row(*values) for values in zip(*columns, strict=True)]
        if held["pending"] is not None:
            observation, mask, action, log_prob, value, *version = held["pending"]
            self._pending = Step(observation, mask, Decision(action, log_prob, value, Version(*version)))

    def _row(self, step: Step, reward: float, kind: RowKind) -> Row:
        action, log_prob, value, version = step.decision
        weight = 1.0 if kind is RowKind.STEP else 0.0
        return Row(
            step.observation, action, step.mask, reward, log_prob, value, int(kind), weight,
            version.generation, version.number, self._episode, self._tick,
        )  # fmt: skip
