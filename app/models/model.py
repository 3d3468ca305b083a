"""What an agent asks, wherever the network runs."""

from collections.abc import Awaitable
from typing import Any, NamedTuple, Protocol

from app.models.question import Decision, Question
from app.models.spec import ModelSpec
from app.types import Version


class Output(NamedTuple):
    """What a network answered, nested."""

    outputs: Any
    """Nested like the spec's outputs, or a policy's ``{"dist_inputs": …, "value": …}``; without a batch axis where one
    observation was asked."""
    state: Any
    """State after this tick, nested like the spec's; None without one."""
    version: Version


class Model(Protocol):
    """A network, in this process or in another."""

    spec: ModelSpec

    def decide(self, question: Question) -> Awaitable[Decision]:
        """Returns the decision for one observation.

        Raises:
          OverloadedError: Too many wait already.
          ValueError: The question does not fit the model.
        """

    async def forward(self, observation: Any, state: Any = None, version: Version | None = None) -> Output:
        """Returns what the network answers to one observation, or to a batch where the arrays have an axis more.

        Args:
          observation: Nested like the spec's.
          state: Nested like the spec's, with the same axes as the observation; None begins a game.
          version: Held version that is to answer; None is the newest.

        Raises:
          AgentError: The network failed, or did not answer in time.
          OverloadedError: Too many wait already.
          ValueError: The observation does not fit the model.
        """

    async def ensure(self, version: Version | None) -> Version:
        """Makes a version answerable until it is released, and returns it; None means the newest one.

        Raises:
          ModelMismatchError: It is no longer kept.
        """

    def release(self, version: Version) -> None:
        """Lets a version go that ``ensure`` returned."""
