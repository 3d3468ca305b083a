"""Turns of many games in one request, where a game that is told to come back holds up no other."""

import asyncio
from collections.abc import Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from app.client.game_client import GameClient
from app.client.steps import START, StepAnswer, StepItem, steps_to_repeat

if TYPE_CHECKING:
    from app.client.retry import Backoff


class Step(Protocol):
    """One step of a frame."""

    @property
    def item(self) -> StepItem:
        """Returns what is sent."""

    @property
    def turn(self) -> Hashable:
        """Returns the game whose turn it belongs to."""


S = TypeVar("S", bound=Step)


class Turn(Generic[S]):
    """The steps that one game asks in one frame."""

    def __init__(self) -> None:
        self.answers: dict[int, StepAnswer] = {}
        """By the index of the step."""
        self.steps: list[S] = []
        self.due_s = 0.0
        """When the refused steps are asked again, by the clock of the event loop."""
        self._backoff: Backoff | None = None

    def unanswered(self) -> list[S]:
        """Returns the steps that are to be asked."""
        return [step for index, step in enumerate(self.steps) if index not in self.answers]

    def take(self, answers: Iterator[StepAnswer], client: GameClient) -> bool:
        """Takes the answers to the unanswered steps; returns whether the turn is over.

        It is not where the service refuses some for now, with those behind them in the same session, and there is time
        to ask them again.
        """
        asked = [index for index in range(len(self.steps)) if index not in self.answers]
        self.answers.update(zip(asked, answers, strict=False))
        refused = steps_to_repeat([step.item for step in self.steps], [self.answers[i] for i in range(len(self.steps))])
        if not refused:
            return True
        self._backoff = self._backoff or client.backoff()
        wait_s = self._backoff.next_s()
        if wait_s is None:
            return True
        self.due_s = asyncio.get_running_loop().time() + wait_s
        for index in refused:
            del self.answers[index]
        return False

    def pairs(self) -> Iterator[tuple[S, StepAnswer]]:
        """Yields each step with its answer."""
        return ((step, self.answers[index]) for index, step in enumerate(self.steps))


class Turns(Generic[S]):
    """Asks the turns of many games, a frame at a time; what is refused for now is asked again in a later frame.

    Until all steps of its turn are answered a game waits, and the others go on: where the service has room for a game
    only once another one ends, a game core that waited with all of its games would wait for ever.
    """

    def __init__(self, client: GameClient) -> None:
        """Begins with no game waiting.

        Args:
          client: Connection to the service; its limits say for how long a turn is asked again.
        """
        self._client = client
        self._waiting: dict[Hashable, Turn[S]] = {}

    def __bool__(self) -> bool:
        """Returns whether a game waits."""
        return bool(self._waiting)

    def waits(self, game: Hashable) -> bool:
        """Returns whether a game waits: nothing more of it is asked meanwhile."""
        return game in self._waiting

    def give_up(self) -> list[S]:
        """Returns the steps that wait for an answer; none waits any more."""
        steps = [step for turn in self._waiting.values() for step in turn.unanswered()]
        self._waiting.clear()
        return steps

    async def ask(self, frame: Sequence[S]) -> list[tuple[S, StepAnswer]]:
        """Returns the steps of the turns that are over, with their answers; refusals are what no time was left for.

        Args:
          frame: Steps of games that do not wait; without any it waits until some can be asked again.

        Raises:
          StepFailedError: The request as a whole was refused.
          ServiceUnreachableError: The connection was lost and not won back within the time limit.
        """
        turns = [*await self._due(wait=not frame), *_turns_of(frame)]
        if not turns:
            return []
        answers = iter(await self._client.steps_once([step.item for turn in turns for step in turn.unanswered()]))
        over: list[tuple[S, StepAnswer]] = []
        for turn in turns:
            game = turn.steps[0].turn
            if turn.take(answers, self._client):
                self._waiting.pop(game, None)
                over += turn.pairs()
            else:
                self._waiting[game] = turn
        return over

    async def _due(self, *, wait: bool) -> list[Turn[S]]:
        """Returns the turns whose time has come."""
        if not self._waiting:
            return []
        loop = asyncio.get_running_loop()
        soonest_s = min(turn.due_s for turn in self._waiting.values())
        if wait and soonest_s > loop.time():
            await asyncio.sleep(soonest_s - loop.time())
        now_s = max(loop.time(), soonest_s if wait else 0.0)
        return [turn for turn in self._waiting.values() if turn.due_s <= now_s]


def _turns_of(frame: Sequence[S]) -> list[Turn[S]]:
    turns: dict[Hashable, Turn[S]] = {}
    for step in frame:
        if step.turn not in turns:
            turns[step.turn] = Turn()
        turns[step.turn].steps.append(step)
    return list(turns.values())


def closing(turns: Turns[S], stops: Sequence[S]) -> list[S]:
    """Returns the last steps of games that are closed: what still waits, then their stops.

    A session whose start waits was never opened: nothing of it is sent.
    """
    waiting = turns.give_up()
    never = {step.item["session"] for step in waiting if step.item["kind"] == START}
    return [step for step in [*waiting, *stops] if step.item["session"] not in never]
