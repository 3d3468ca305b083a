"""Players who act by themselves and tell the service what they did."""

from collections.abc import Callable
from typing import Any, Final

from app.client.aio import Client, Session, Step
from app.client.errors import StepFailedError
from app.client.game import START, STOP, TICK

MAX_STEPS: Final = 128
"""Steps of one request."""


class ToldPlayers:
    """Sessions that a ``ToldAgent`` holds; steps are sent many at a time."""

    def __init__(
        self, client: Client, name: Callable[[str], str], options: object, ended: Callable[[float], None]
    ) -> None:
        """Begins without a player.

        Args:
          client: The service.
          name: Returns the id of a player's session.
          options: Body of each start; None for none.
          ended: Takes the sum of rewards of each game that is over.
        """
        self._client, self._name, self._options, self._ended = client, name, options, ended
        self._open: dict[str, Session] = {}
        self._returns: dict[str, float] = {}
        self._steps: list[Step] = []
        self.ticks = 0
        """Told so far."""

    async def tell(self, who: str, tick: dict[str, Any]) -> None:
        """Tells what a player saw and did.

        Raises:
          ClientError: The service refused a step, or did not answer in time.
        """
        if who not in self._open:
            self._open[who] = self._client.session(self._name(who))
            self._returns[who] = 0.0
            self._steps.append(Step(self._open[who], self._options, START))
        self._returns[who] += tick["reward"]
        self._steps.append(Step(self._open[who], tick, TICK))
        self.ticks += 1
        if len(self._steps) >= MAX_STEPS:
            await self.flush()

    async def end(self, who: str, observation: object, reward: float, *, terminated: bool, truncated: bool) -> None:
        """Tells how a player's game ended; one that never acted has none.

        Raises:
          ClientError: The service refused a step, or did not answer in time.
        """
        session = self._open.pop(who, None)
        if session is None:
            return
        body = {"observation": observation, "reward": reward, "terminated": terminated, "truncated": truncated}
        self._steps.append(Step(session, body, STOP))
        self._ended(self._returns.pop(who) + reward)
        await self.flush()

    async def flush(self) -> None:
        """Sends what is not sent yet.

        Raises:
          ClientError: The service refused a step, or did not answer in time.
        """
        steps, self._steps = self._steps, []
        if not steps:
            return
        for answer in await self._client.steps(steps):
            if isinstance(answer, StepFailedError):
                raise answer

    async def close(self) -> None:
        """Ends the games under way as truncated.

        Raises:
          ClientError: The service refused a step, or did not answer in time.
        """
        self._steps = [Step(session, {"truncated": True}, STOP) for session in self._open.values()]
        self._open.clear()
        await self.flush()
