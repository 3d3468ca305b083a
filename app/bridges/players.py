"""Several players who look and act at the same time: what one frame asks, as one request."""

import secrets
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from app.client.aio import Client, Session, Step
from app.client.environments import Reward
from app.client.errors import StepFailedError
from app.client.result import LOST_CODES
from app.client.steps import START, STOP, TICK
from app.errors import SparringError

K = TypeVar("K", bound=Hashable)

BEGUN_ANEW_MAX: Final = 3
"""So often in one frame a player begins anew whose session was lost; more often the service is not there to play."""


class NoActionError(SparringError):
    """The service's agent answers without an action: it is of another kind of game."""


@dataclass(frozen=True, slots=True)
class _Asked(Generic[K]):
    """One step of the frame, and whose it is."""

    who: K
    step: Step


class Players(Generic[K]):
    """Sessions of players who come and go; ``look`` and ``leave`` say what happened, ``play`` asks the service.

    A session begins where a player looks who has none, and ends where it leaves. A player whose session the service
    lost goes on in a new one, which begins in the middle of the game.
    """

    def __init__(
        self,
        client: Client,
        options: Mapping[str, object] | None = None,
        name: Callable[[K], str] | None = None,
        ended: Callable[[float], None] = lambda _: None,
    ) -> None:
        """Begins without a player.

        Args:
          client: The service.
          options: Body of each start, the agent's; None for none.
          name: Returns the id of a player's next session, one that no other has had; None draws it.
          ended: Takes the sum of rewards of each game that was played to its end in one session.
        """
        self._ended = ended
        self._returns: dict[K, float] = {}
        self._client, self._options = client, options
        self._prefix = secrets.token_hex(6)
        self._numbers = 0
        self._name = name or self._draw
        self._open: dict[K, Session] = {}
        self._asked: list[_Asked[K]] = []
        self.lost = 0
        """Sessions that the service no longer knew."""
        self.policy_version: str | None = None
        """Version that the newest answer named; None where none was named."""

    def look(self, who: K, observation: object, reward: Reward = 0.0, action_mask: object = None) -> None:
        """Notes that a player has to act.

        Args:
          who: The player.
          observation: What it sees, as JSON or arrays.
          reward: What its last action brought.
          action_mask: Choices that are allowed; None allows all.
        """
        if who not in self._open:
            self._begin(who)
        self._returns[who] += _sum(reward)
        mask = {} if action_mask is None else {"action_mask": action_mask}
        self._ask(who, TICK, {"observation": observation, "reward": reward, **mask})

    def leave(
        self, who: K, observation: object, reward: Reward = 0.0, *, terminated: bool = False, truncated: bool = False
    ) -> None:
        """Notes that a player's game is over; one who never had to act has no session to end.

        Args:
          who: The player.
          observation: What it sees at the end; None where that is not known.
          reward: What its last action brought.
          terminated: The game ended by its own rules.
          truncated: The game was cut, by a time limit or from outside.
        """
        if who in self._open:
            seen = {} if observation is None else {"observation": observation}
            self._ask(who, STOP, {**seen, "reward": reward, "terminated": terminated, "truncated": truncated})
            del self._open[who]
            if terminated or (truncated and observation is not None):
                self._ended(self._returns[who] + _sum(reward))

    def playing(self, who: K) -> bool:
        """Returns whether a player has a session."""
        return who in self._open

    async def play(self) -> dict[K, Any]:
        """Sends what was noted since the last call, and returns the action of each player who looked, as JSON.

        Raises:
          ClientError: The service refused a step, or did not answer in time.
          NoActionError: An answer holds no action.
        """
        actions: dict[K, Any] = {}
        for _ in range(BEGUN_ANEW_MAX):
            asked, self._asked = self._asked, []
            if not asked:
                return actions
            answers = await self._client.steps([one.step for one in asked])
            failures: list[StepFailedError] = []
            for one, answer in zip(asked, answers, strict=True):
                if not isinstance(answer, StepFailedError):
                    self.policy_version = answer.policy_version or self.policy_version
                    if one.step.kind == TICK:
                        actions[one.who] = _action(answer.value)
                elif answer.code not in LOST_CODES:
                    failures.append(answer)
                else:
                    self._lost(one)
            if failures:
                raise failures[0]
        raise SparringError(f"the service lost a session {BEGUN_ANEW_MAX} times in one frame; games cannot go on")

    async def close(self) -> None:
        """Ends the games under way as truncated, what is seen at their end is not known; what was noted is sent before.

        Raises:
          ClientError: The service refused a step, or did not answer in time.
        """
        for who in [one.who for one in self._asked if one.step.kind == START]:
            self._forget(who)
        for who in list(self._open):
            self.leave(who, None, truncated=True)
        await self.play()

    def _begin(self, who: K) -> None:
        self._open[who] = self._client.session(self._name(who))
        self._returns[who] = 0.0
        self._ask(who, START, self._options)

    def _forget(self, who: K) -> None:
        """Takes back what was noted of a session that has not begun."""
        session = self._open.pop(who, None)
        self._asked = [one for one in self._asked if one.step.session is not session]

    def _ask(self, who: K, kind: str, body: object) -> None:
        self._asked.append(_Asked(who, Step(self._open[who], body, kind)))

    def _lost(self, one: _Asked[K]) -> None:
        """Lets a lost session go; who had to act in it does so in a new one, where no action waits for a reward."""
        if self._open.get(one.who) is one.step.session:
            self.lost += 1
            del self._open[one.who]
        if one.step.kind == TICK:
            self._begin(one.who)
            body: Any = one.step.body
            self._ask(one.who, TICK, body | {"reward": 0.0})

    def _draw(self, who: K) -> str:
        self._numbers += 1
        return f"{self._prefix}-{self._numbers}"


def _sum(reward: Reward) -> float:
    return float(sum(reward.values())) if isinstance(reward, Mapping) else float(reward)


def _action(value: Any) -> Any:
    if not isinstance(value, dict) or "action" not in value:
        raise NoActionError(f'a tick is answered by {{"action": …}}, got {str(value)[:200]}')
    return value["action"]
