"""An observer that reports numbers of the games that it sees; it asks no model and answers nothing."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from app.agents.agent import Agent, AgentContext
from app.agents.fields import number_at, number_of
from app.errors import ConfigError, SnapshotError
from app.sessions.ids import agent_of
from app.sessions.session import EndCause
from app.wire.payload import Payload
from app.wire.trees import Tree

EPISODE: Final = "episode/"
"""Begins the name of what is reported once, when the episode ends."""
MISSING: Final = "missing/"
"""Begins the name under which an episode is reported that never had a number there."""


class MetricsAgent(Agent):
    """Reports values of the blackboard and of payloads, for use with ``role: observer``.

    Each tick reports them under their own names. The end of an episode reports ``episode/ticks`` and the sum of each as
    ``episode/<name>``; for one that never had a number, ``missing/<name>``.
    """

    def __init__(
        self,
        context: AgentContext,
        board: Sequence[str] = (),
        payload: Sequence[str] = (),
        stop: Mapping[str, str] | None = None,
        agents: Sequence[str] | None = None,
    ) -> None:
        """Says what is reported.

        Args:
          context: What the service gives.
          board: Names on the blackboard, as they stand there once the player has answered.
          payload: Dotted paths into what the game core sends, such as ``me.health``.
          stop: Where the payload of the stop holds the last value of one of ``payload``: path there, by path in a tick.
            None: at the same path.
          agents: Agents whose sessions are looked at, as their ids name them; None looks at all.

        Raises:
          ConfigError: A name stands twice, or ``stop`` has one that ``payload`` lacks.
        """
        super().__init__(context)
        names = [*board, *payload]
        if len(set(names)) < len(names):
            raise ConfigError(f"a MetricsAgent reports each name once, got {', '.join(names)}")
        if stop is not None and not set(stop) <= set(payload):
            raise ConfigError(f"stop is {dict(stop)}; allowed are paths by those of payload, {', '.join(payload)}")
        self._board = tuple(board)
        self._payload = {path: path for path in payload}
        self._stop = self._payload if stop is None else dict(stop)
        self._seen = agents is None or agent_of(context.session) in agents
        self.ticks = 0
        self.sums: dict[str, float] = {}

    async def on_tick(self, payload: Payload) -> Payload:
        """Reports the values of one tick."""
        if self._seen:
            self.ticks += 1
            for name in self._board:
                self._take(name, number_of(self.context.board.get(name)))
            self._take_fields(payload, self._payload)
        return None

    async def on_episode(self, payload: Payload, cause: EndCause) -> Payload:
        """Reports what the stop brings, and the sums."""
        if self._seen:
            self._take_fields(payload, self._stop)
            measure = self.context.measure
            measure(f"{EPISODE}ticks", self.ticks)
            for name in (*self._board, *self._payload):
                if name in self.sums:
                    measure(EPISODE + name, self.sums[name])
                else:
                    measure(MISSING + name, 1)
        return None

    def state_dict(self) -> Tree:
        """Returns what was added up; what is looked at is the config's, of whoever holds the game."""
        return {"ticks": self.ticks, "sums": dict(self.sums)}

    async def load_state_dict(self, state: Tree) -> None:
        """Goes on adding up where another replica's agent was.

        Raises:
          SnapshotError: It is no state of such an agent.
        """
        if not isinstance(state, dict) or set(state) != {"ticks", "sums"}:
            raise SnapshotError(f"the state of a MetricsAgent has ticks and sums, got {type(state).__name__}")
        held = cast("dict[str, Any]", state)
        self.ticks, self.sums = held["ticks"], dict(held["sums"])

    def _take_fields(self, payload: Payload, paths: Mapping[str, str]) -> None:
        for name, path in paths.items():
            self._take(name, number_at(payload, path))

    def _take(self, name: str, value: float | None) -> None:
        if value is not None:
            self.context.measure(name, value)
            self.sums[name] = self.sums.get(name, 0.0) + value
