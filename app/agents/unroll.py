"""Turns the ticks of one session into trajectories."""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, cast

import numpy as np

from app.models.question import Decision
from app.types import Amount, RowKind, Version
from app.wire.trees import Tree


class Step(NamedTuple):
    """An observation and what was decided about it; its reward is still to come."""

    observation: Any
    """Nested like the model's."""
    mask: Any
    """Allowed choices, nested like the model's action; None at a leaf that has no choices."""
    decision: Decision
    state: Any = None
    """State before the tick, nested like the model's; None without one."""


class Row(NamedTuple):
    """One row of a trajectory; ``app.replay.rows`` turns the nested ones into columns."""

    observation: Any
    action: Any
    action_mask: Any
    state: Any
    reward: Amount
    log_prob: float
    value: Amount
    kind: int
    weight: float
    generation: int
    version: int
    episode: int
    tick: int
    policy_target: Any = None
    """How probable each choice ought to be, [choices]; None where no search found it."""


class Watch(Protocol):
    """Sees the rows of unrolls while they grow."""

    def completed(self, rows: int) -> None:
        """Notes that there are so many rows more, a trajectory's bootstrap row counted with its first one."""

    def reached(self, unroll: "Unroll", observation: Any, mask: Any) -> None:
        """Notes that an observation has come and the next decision is due; may cut the unroll."""


class Unroll:
    """Collects the rows of one session and hands over whole trajectories.

    A row is complete when the reward of its action is known, with the next tick or the stop. A trajectory is handed
    over as soon as it is full and the observation that follows is known, or when it ends.
    """

    def __init__(
        self,
        episode: int,
        ticks: int | None,
        emit: Callable[[list[Row]], None],
        *,
        untrained: bool = False,
        watch: Watch | None = None,
    ) -> None:
        """Begins an episode.

        Args:
          episode: Number that no other episode has.
          ticks: Rows of a full trajectory; None never cuts a game that goes on.
          emit: Takes each trajectory, its bootstrap row last.
          untrained: Also collect what an untrained model has played, which nobody learns from.
          watch: Sees its rows; None where nobody does.
        """
        self._untrained = untrained
        self._episode = episode
        self._ticks = ticks
        self._emit = emit
        self._watch = watch
        self._rows: list[Row] = []
        self._pending: Step | None = None
        self._state: Any = None
        """The model's state behind the last row."""
        self._tick = 0

    def unlearned(self) -> "Unroll | None":
        """Returns what still collects where actions are not drawn from the policy; None: learning would be wrong."""
        return None

    def reward(self, reward: Amount) -> None:
        """Completes the pending row with the reward of its action; without one there is nothing to do."""
        if self._pending is None:
            return
        step, self._pending = self._pending, None
        # The untrained model's ticks are answered, not learned from.
        if self._untrained or step.decision.version.generation > 0:
            self._rows.append(self._row(step, reward, RowKind.STEP))
            self._state = step.decision.state
            if self._watch is not None:
                self._watch.completed(1 if len(self._rows) > 1 else 2)
        self._tick += 1

    def reached(self, observation: Any, mask: Any = None) -> None:
        """Notes the next observation, and what is allowed in it: a full trajectory is handed over.

        Args:
          observation: Nested like the model's.
          mask: Nested like the model's action; None allows all.
        """
        if self._ticks is not None and len(self._rows) >= self._ticks:
            self.cut(RowKind.FULL, observation, mask)
        if self._watch is not None:
            self._watch.reached(self, observation, mask)

    def decided(self, step: Step) -> None:
        """Notes what was decided; the row waits for its reward."""
        self._pending = step

    def cut(self, kind: RowKind, observation: Any | None, mask: Any = None) -> None:
        """Ends the trajectory and hands it over.

        Args:
          kind: How it ends; not ``STEP``.
          observation: State reached after the last row; None where it never arrived. Then the last state that did
            arrive takes its place, and a row that was acted in it is dropped; a terminated one loses nothing.
          mask: What is allowed in that state, nested like the model's action; None allows all.
        """
        rows, self._rows = self._rows, []
        pending, self._pending = self._pending, None
        state = self._state
        if observation is None and pending is not None:
            observation, mask = pending.observation, pending.mask
        if not rows:
            return
        if observation is None:
            observation, mask, state = rows[-1].observation, rows[-1].action_mask, rows[-1].state
            if kind is not RowKind.TERMINATED:
                del rows[-1]
                if self._watch is not None:
                    self._watch.completed(-1 if rows else -2)
        if rows:
            last = rows[-1]
            nothing = Decision(last.action, 0.0, _none_of(last.value), Version(last.generation, last.version))
            allowed = everything_like(last.action_mask) if mask is None else mask
            end = self._row(Step(observation, allowed, nothing, state), _none_of(last.reward), kind)
            rows.append(end._replace(tick=last.tick + 1))
            self._emit(rows)

    def skip(self, ticks: int) -> None:
        """Leaves numbers free for ticks that were played elsewhere, so that no two rows carry the same."""
        self._tick += ticks

    def state_dict(self) -> Tree:
        """Returns all that the next tick depends on."""
        columns: Tree = {name: _column([row[at] for row in self._rows]) for at, name in enumerate(Row._fields)}
        pending: Tree = None
        if self._pending is not None:
            observation, mask, (action, log_prob, value, version, after, target, _), state = self._pending
            pending = [observation, mask, action, log_prob, value, *version, after, target, state]
        return {
            "episode": self._episode,
            "tick": self._tick,
            "columns": columns,
            "pending": pending,
            "state": self._state,
        }

    def load_state_dict(self, state: Tree) -> None:
        """Takes over what another replica has collected."""
        held = cast("dict[str, Any]", state)
        self._episode, self._tick = held["episode"], held["tick"]
        self._state = held["state"]
        self._rows = [Row(*values) for values in zip(*map(_values, held["columns"].values()), strict=True)]
        if held["pending"] is not None:
            observation, mask, action, log_prob, value, generation, number, after, target, state = held["pending"]
            decision = Decision(action, log_prob, value, Version(generation, number), after, target)
            self._pending = Step(observation, mask, decision, state)

    def _row(self, step: Step, reward: Amount, kind: RowKind) -> Row:
        action, log_prob, value, version, _, target, _ = step.decision
        weight = 1.0 if kind is RowKind.STEP else 0.0
        return Row(
            step.observation, action, step.mask, step.state, reward, log_prob, value, int(kind), weight,
            version.generation, version.number, self._episode, self._tick, target,
        )  # fmt: skip


def everything_like(mask: Any) -> Any:
    """Returns the mask of the same structure that allows every choice."""
    if isinstance(mask, dict):
        return {name: everything_like(part) for name, part in mask.items()}
    if isinstance(mask, tuple):
        return tuple(everything_like(part) for part in mask)
    return None if mask is None else np.ones_like(mask)


def _none_of(amount: Amount) -> Amount:
    """Returns nothing, of the same shape."""
    return np.zeros_like(amount) if isinstance(amount, np.ndarray) else 0.0


def _column(values: list[Any]) -> Tree:
    """Returns plain numbers and arrays as one array, and nested values one by one."""
    if all(isinstance(value, int | float | np.ndarray) for value in values):
        return np.array(values)
    return list(values)


def _values(column: Any) -> list[Any]:
    """Returns what ``_column`` was made of."""
    if isinstance(column, np.ndarray):
        return column.tolist() if column.ndim == 1 else list(column)
    return list(column)
