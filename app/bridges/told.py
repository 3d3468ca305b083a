"""Players who act by themselves and tell the service what they did."""

from collections.abc import Callable
from typing import Any

from app.client.aio import Client, Session, Step
from app.client.course import UNSETTLED_MAX
from app.client.errors import StepFailedError
from app.client.steps import START, STOP, TICK


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
        self.ticks += 1
        await self._add(Step(self._open[who], tick, TICK))

    async def end(self, who: str, observation: object, reward: float, *, terminated: bool, truncated: bool) -> None:
        """Tells how a player's game ended; one that never acted has none.

        Raises:
          ClientError: The service refused a step, or did not answer in time.
        """
        session = self._open.pop(who, None)
        if session is None:
            return
        body = {"observation": observation, "reward": reward, "terminated": terminated, "truncated": truncated}
        await self._add(Step(session, body, STOP))
        await self.flush()
        self._ended(self._returns.pop(who) + reward)

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

    async def _add(self, step: Step) -> None:
        """Takes a step; those before it are sent where a request holds no more of its session."""
        if sum(one.session is step.session for one in self._steps) >= UNSETTLED_MAX:
            await self.flush()
        self._steps.append(step)

    async def close(self) -> None:
        """Ends the games under way as truncated.

        Raises:
          ClientError: The service refused a step, or did not answer in time.
        """
        self._steps = [Step(session, {"truncated": True}, STOP) for session in self._open.values()]
        self._open.clear()
        await self.flush()
