"""The event loop's things as code in a thread uses them."""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError
from functools import partial
from typing import Final, ParamSpec, TypeVar

from app.errors import DeadlineExceededError
from app.models.model import Model
from app.models.question import Decision, Question
from app.sessions.blackboard import Board
from app.types import Version

P = ParamSpec("P")
T = TypeVar("T")

ASK_TIMEOUT_S: Final = 10.0
"""Longest wait of a thread for the event loop's answer."""


class BlockingModel:
    """A model as code in a thread asks it."""

    def __init__(self, model: Model, loop: asyncio.AbstractEventLoop) -> None:
        self.spec = model.spec
        self._model = model
        self._loop = loop

    def decide(self, question: Question) -> Decision:
        """Returns the decision for one observation; not to be called on the event loop.

        Raises:
          DeadlineExceededError: The model does not answer.
          StepError: The model's own.
        """
        return _asked(self._loop, self._decide(question), "the model")

    def ensure(self, version: Version | None) -> Version:
        """Makes a version answerable until it is released, and returns it; None means the newest one.

        Raises:
          DeadlineExceededError: The model does not answer.
          ModelMismatchError: The version is no longer kept.
        """
        return _asked(self._loop, self._model.ensure(version), "the model")

    def release(self, version: Version) -> None:
        """Lets a version go that ``ensure`` returned."""
        self._loop.call_soon_threadsafe(self._model.release, version)

    async def _decide(self, question: Question) -> Decision:
        return await self._model.decide(question)


class BlockingBoard:
    """The game's blackboard as code in a thread sees it."""

    def __init__(self, board: Board, loop: asyncio.AbstractEventLoop) -> None:
        self._board = board
        self._loop = loop

    def put(self, name: str, value: object) -> None:
        """Sets a value of this frame, soon, and wakes who waits for it."""
        self._loop.call_soon_threadsafe(self._board.put, name, value)

    def wait(self, name: str) -> object:
        """Returns a value of this frame as soon as an agent has put it; not to be called on the event loop.

        Raises:
          AgentError: Nobody has put it in time; the message says who waits for what.
        """
        return _asked(self._loop, self._board.wait(name), "the blackboard")


def on_loop(loop: asyncio.AbstractEventLoop, function: Callable[P, object]) -> Callable[P, None]:
    """Returns a function for threads that calls another on the event loop, soon, and forgets what it returns."""

    def call(*args: P.args, **kwargs: P.kwargs) -> None:
        loop.call_soon_threadsafe(partial(function, *args, **kwargs))

    return call


def _asked(loop: asyncio.AbstractEventLoop, question: Coroutine[object, object, T], whom: str) -> T:
    """Returns what a coroutine returns that runs on the loop while this thread waits."""
    answer = asyncio.run_coroutine_threadsafe(question, loop)
    try:
        return answer.result(ASK_TIMEOUT_S)
    except TimeoutError as error:
        answer.cancel()
        raise DeadlineExceededError(f"{whom} did not answer within {ASK_TIMEOUT_S:g} s") from error
    except CancelledError as error:  # The loop ends.
        raise DeadlineExceededError(f"{whom} was gone before it answered") from error
