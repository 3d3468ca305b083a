"""Whole episodes beside the trajectories that are learned from now; agents see one unroll."""

from typing import Any, Final, cast

from app.agents.game_log import GameLog
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
    """Collects a session's rows for its log, those of untrained models and greedy players too.

    While the log is dormant nothing is collected; where it holds the last ticks, so does this.
    """

    def __init__(self, episode: int, log: GameLog) -> None:
        """Begins an episode.

        Args:
          episode: Number that no other episode has.
          log: Takes the rows when the episode ends, or a part of it; called wherever the agent runs.
        """
        super().__init__(episode, log.part_ticks, self._note, untrained=True)
        self._log = log
        self._places: dict[int, int] = {}
        """Entry of the log in which each row was decided, by the row's tick."""

    def unlearned(self) -> Unroll:
        """Returns this one: nobody learns from it now."""
        return self

    def decided(self, step: Step) -> None:
        """Notes what was decided; the row waits for its reward."""
        if self._log.active:
            self._places[self._tick] = self._log.place
            super().decided(step)

    def reward(self, reward: Amount) -> None:
        """Completes the pending row; of a game that nobody has asked for the oldest ones leave."""
        if self._pending is None:
            return
        super().reward(reward)
        if self._log.why is None and len(self._rows) > (self._log.keep_ticks or 0):
            self._places.pop(self._rows.pop(0).tick, None)

    def state_dict(self) -> Tree:
        """Returns all that the next tick depends on."""
        places: Tree = [[tick, place] for tick, place in self._places.items()]
        return cast("dict[str, Tree]", super().state_dict()) | {"places": places}

    def load_state_dict(self, state: Tree) -> None:
        """Takes over what another replica has collected."""
        held = cast("dict[str, Any]", state)
        self._places = dict(held.get("places", ()))
        super().load_state_dict(state)

    def _note(self, rows: list[Row]) -> None:
        places, self._places = self._places, {}
        self._log.rows(((places.get(row.tick), row) for row in rows[:-1]), rows[-1])


class RecordedUnroll(Unroll):
    """Passes everything on to an unroll to learn from and to one that records."""

    def __init__(self, learning: Unroll, recording: Unroll) -> None:
        self._learning = learning
        self._recording: Unroll | None = recording

    def unlearned(self) -> Unroll | None:
        """Returns the one that records."""
        return self._recording

    def reward(self, reward: Amount) -> None:
        """Completes the pending row."""
        self._learning.reward(reward)
        if self._recording is not None:
            self._recording.reward(reward)

    def reached(self, observation: Any, mask: Any = None) -> None:
        """Notes the next observation."""
        self._learning.reached(observation, mask)
        if self._recording is not None:
            self._recording.reached(observation, mask)

    def decided(self, step: Step) -> None:
        """Notes what was decided."""
        self._learning.decided(step)
        if self._recording is not None:
            self._recording.decided(step)

    def cut(self, kind: RowKind, observation: Any | None, mask: Any = None) -> None:
        """Ends the trajectory, and the episode with it."""
        self._learning.cut(kind, observation, mask)
        if self._recording is not None:
            self._recording.cut(kind, observation, mask)

    def skip(self, ticks: int) -> None:
        """Leaves numbers free for ticks that were played elsewhere."""
        self._learning.skip(ticks)
        if self._recording is not None:
            self._recording.skip(ticks)

    def state_dict(self) -> Tree:
        """Returns the states of both."""
        own = cast("dict[str, Tree]", self._learning.state_dict())
        return own if self._recording is None else own | {RECORDING: self._recording.state_dict()}

    def load_state_dict(self, state: Tree) -> None:
        """Takes over the states of both; of an episode whose begin was not recorded, the rest is not either."""
        held = cast("dict[str, Tree]", state)
        if RECORDING not in held:
            self._recording = None
        elif self._recording is not None:
            self._recording.load_state_dict(held[RECORDING])
        self._learning.load_state_dict(state)
