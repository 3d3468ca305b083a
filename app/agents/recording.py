"""Whole episodes beside the trajectories that are learned from now; agents see one unroll."""

from collections.abc import Callable
from typing import Any, Final, cast

from app.agents.unroll import Row, Step, Unroll
from app.seeding import derive
from app.types import Amount, RowKind
from app.wire.trees import Tree

RECORDING: Final = "recording"
"""Where the state of an unroll to learn from keeps that of the one beside it."""


def is_recorded(game: str, every: int) -> bool:
    """Returns whether a game is one of the ``every``-th; its name alone decides."""
    return derive(0, "record", game) % every == 0


class Recording(Unroll):
    """Collects whole episodes, those of untrained models and greedy players too."""

    def __init__(self, episode: int, emit: Callable[[list[Row]], None]) -> None:
        """Begins an episode.

        Args:
          episode: Number that no other episode has.
          emit: Takes it when it ends; called wherever the agent runs.
        """
        super().__init__(episode, None, emit, untrained=True)

    def unlearned(self) -> Unroll:
        """Returns this one: nobody learns from it now."""
        return self


class RecordedUnroll(Unroll):
    """Passes everything on to an unroll to learn from and to one that records."""

    def __init__(self, learning: Unroll, recording: Recording) -> None:
        self._learning = learning
        self._recording = recording

    def unlearned(self) -> Unroll:
        """Returns the one that records."""
        return self._recording

    def reward(self, reward: Amount) -> None:
        """Completes the pending row."""
        self._learning.reward(reward)
        self._recording.reward(reward)

    def reached(self, observation: Any, mask: Any = None) -> None:
        """Notes the next observation."""
        self._learning.reached(observation, mask)
        self._recording.reached(observation, mask)

    def decided(self, step: Step) -> None:
        """Notes what was decided."""
        self._learning.decided(step)
        self._recording.decided(step)

    def cut(self, kind: RowKind, observation: Any | None, mask: Any = None) -> None:
        """Ends the trajectory, and the episode with it."""
        self._learning.cut(kind, observation, mask)
        self._recording.cut(kind, observation, mask)

    def skip(self, ticks: int) -> None:
        """Leaves numbers free for ticks that were played elsewhere."""
        self._learning.skip(ticks)
        self._recording.skip(ticks)

    def state_dict(self) -> Tree:
        """Returns the states of both."""
        return cast("dict[str, Tree]", self._learning.state_dict()) | {RECORDING: self._recording.state_dict()}

    def load_state_dict(self, state: Tree) -> None:
        """Takes over the states of both; of an episode whose begin was not recorded, the rest is not either."""
        held = cast("dict[str, Tree]", state)
        if RECORDING not in held:
            self._recording = Recording(0, _let_go)
        else:
            self._recording.load_state_dict(held[RECORDING])
        self._learning.load_state_dict(state)


def _let_go(episode: list[Row]) -> None:
    """Keeps nothing."""
