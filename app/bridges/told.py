"""Players who act by themselves and tell the service what they did."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from app.bridges.players import BEGUN_ANEW_MAX
from app.client.aio import Answer, Client, Session, Step
from app.client.course import UNSETTLED_MAX
from app.client.errors import StepFailedError
from app.client.result import LOST_CODES
from app.client.steps import START, STOP, TICK
from app.errors import SparringError


@dataclass(frozen=True, slots=True)
class _Told:
    """One step, and whose it is."""

    who: str
    step: Step


class ToldPlayers:
    """Sessions that a ``ToldAgent`` holds; steps are sent many at a time.

    A game whose session the service lost goes on in a new one, which begins in the middle of it.
    """

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
        self._steps: list[_Told] = []
        self.ticks = 0
        """Told so far."""
        self.lost = 0
        """Sessions that the service no longer knew."""

    async def tell(self, who: str, tick: dict[str, Any]) -> None:
        """Tells what a player saw and did.

        Raises:
          ClientError: The service refused a step, or did not answer in time.
        """
        if who not in self._open:
            self._open[who] = self._client.session(self._name(who))
            self._returns[who] = 0.0
            self._steps.append(_Told(who, Step(self._open[who], self._options, START)))
        self._returns[who] += tick["reward"]
        self.ticks += 1
        await self._add(who, Step(self._open[who], tick, TICK))

    async def end(self, who: str, observation: object, reward: float, *, terminated: bool, truncated: bool) -> None:
        """Tells how a player's game ended; one that never acted has none.

        Raises:
          ClientError: The service refused a step, or did not answer in time.
        """
        if who not in self._open:
            return
        body = {"observation": observation, "reward": reward, "terminated": terminated, "truncated": truncated}
        await self._add(who, Step(self._open[who], body, STOP))
        await self.flush()
        self._open.pop(who, None)
        self._ended(self._returns.pop(who) + reward)

    async def flush(self) -> None:
        """Sends what is not sent yet.

        Raises:
          ClientError: The service refused a step, or did not answer in time.
          SparringError: It loses one session after another.
        """
        for _ in range(BEGUN_ANEW_MAX):
            told, self._steps = self._steps, []
            if not told:
                return
            lost = _lost(told, await self._client.steps([one.step for one in told]))
            if lost:
                await self._begin_anew(lost)
        if self._steps:
            raise SparringError(f"the service lost a session {BEGUN_ANEW_MAX} times in a row; games cannot go on")

    async def _begin_anew(self, lost: Sequence[_Told]) -> None:
        """Starts a session for each that was lost, and notes again what it did not take; no action waits there."""
        anew: dict[Session, Session] = {}
        for one in lost:
            if one.step.session not in anew:
                self.lost += 1
                if one.step.kind == STOP:  # All that was played is there; nobody waits for the end.
                    continue
                session = anew[one.step.session] = self._client.session(self._name(one.who))
                if self._open.get(one.who) is one.step.session:
                    self._open[one.who] = session
                first: Any = one.step.body
                self._steps.append(_Told(one.who, Step(session, first | {"reward": 0.0}, one.step.kind)))
            else:
                self._steps.append(_Told(one.who, Step(anew[one.step.session], one.step.body, one.step.kind)))
        if not anew:
            return
        starts = [_Told("", Step(session, self._options, START)) for session in anew.values()]
        _lost(starts, await self._client.steps([one.step for one in starts]))

    async def _add(self, who: str, step: Step) -> None:
        """Takes a step; those before it are sent where a request holds no more of its session."""
        if sum(one.step.session is step.session for one in self._steps) >= UNSETTLED_MAX:
            await self.flush()
            step = Step(self._open[who], step.body, step.kind)  # It may have begun anew meanwhile.
        self._steps.append(_Told(who, step))

    async def close(self) -> None:
        """Ends the games under way as truncated.

        Raises:
          ClientError: The service refused a step, or did not answer in time.
        """
        self._steps = [_Told(who, Step(session, {"truncated": True}, STOP)) for who, session in self._open.items()]
        self._open.clear()
        await self.flush()


def _lost(told: Sequence[_Told], answers: Sequence[Answer | StepFailedError]) -> list[_Told]:
    """Returns the steps that the service did not take because it no longer knew their sessions.

    Raises:
      StepFailedError: It refused a step for another reason, or a start.
    """
    lost: list[_Told] = []
    for one, answer in zip(told, answers, strict=True):
        if isinstance(answer, StepFailedError):
            if answer.code not in LOST_CODES or one.step.kind == START:
                raise answer
            lost.append(one)
    return lost
