"""What a user writes: the decision logic of one side of a game."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import ClassVar, Final, Protocol, cast

from pydantic import BaseModel

from app.agents.unroll import Unroll
from app.errors import SnapshotError
from app.models.model import Model
from app.seeding import Draws
from app.sessions.blackboard import Board
from app.sessions.session import EndCause
from app.types import Purpose, SessionId, Version
from app.wire.payload import Codec, CodecKind, Payload, codec_of
from app.wire.trees import Tree

NO_HYPERPARAMETERS: Final[Mapping[str, float]] = MappingProxyType({})


class Measure(Protocol):
    """Takes a number that somebody wants to see."""

    def __call__(self, name: str, value: float, **labels: str) -> None:
        """Takes one more value of a name and some labels, of which there are few."""


def nowhere(name: str, value: float, **labels: str) -> None:
    """Lets a number go that nobody shows."""


@dataclass(frozen=True, slots=True)
class AgentContext:
    """What the service gives to an agent."""

    session: SessionId
    purpose: Purpose
    rng: Draws
    """The session's own random numbers."""
    model: Model | None
    """Model that the config names; None where it names none."""
    unroll: Unroll | None
    """Where ticks become trajectories; None where nothing is recorded."""
    report: Callable[[float, int], None]
    """Reports a finished episode: return and ticks."""
    board: Board
    """Values that the agents of the game share within a frame."""
    measure: Measure = nowhere
    """Reports a number under a name and labels of the agent's choice, ``measure("damage", 3.0, weapon="axe")``: mean,
    quantiles and so on are shown by label. Names and labels' values are few; by default it goes nowhere."""
    hyperparameters: Mapping[str, float] = field(default_factory=lambda: NO_HYPERPARAMETERS)
    """Numbers of the league's learning period that the game is played in, by name; none outside a league."""


class Agent(ABC):
    """One side of one game, from ``on_start`` to ``on_episode``; made anew for each episode.

    An agent moves between processes when its replica goes away: ``state_dict`` is what travels, and by default that is
    every attribute but ``context``, so attributes are numbers, text, bytes, arrays, and lists, tuples and dicts of
    these, or the class says itself how its state is written.
    """

    codec: ClassVar[CodecKind] = "json"
    """``json``: payloads are parsed JSON values; ``bytes``: they are left as they came; ``proto``: they are messages of
    the classes that the attributes ``tick_input`` and ``tick_output`` name, and ``start_input``, ``stop_output`` and so
    on where the class has them."""

    options: ClassVar[type[BaseModel] | None] = None
    """Schema of what a start may carry: ``on_start`` then gets an object of this class, and one that does not fit is
    refused before. None: it gets the body as it is."""

    def __init__(self, context: AgentContext) -> None:
        self.context = context
        self.version: Version | None = None
        """Weights behind the last answer; None where no model was asked."""

    def payloads(self) -> Codec:
        """Returns what translates between bodies and payloads."""
        return codec_of(type(self))

    async def on_start(self, options: Payload) -> Payload:
        """Begins an episode and returns what the game core is told.

        Args:
          options: What the game core sent with the start, of the class that ``options`` names; without one, the body
            as it is, None where there is none.
        """
        return None

    @abstractmethod
    async def on_tick(self, payload: Payload) -> Payload:
        """Returns the answer to one tick."""

    def on_deadline(self, payload: Payload) -> Payload:
        """Returns the answer to a tick whose time is up, instead of the error ``deadline_exceeded``.

        Raises:
          NotImplementedError: The agent has no such answer; so it is unless a class says otherwise.
        """
        raise NotImplementedError

    async def on_episode(self, payload: Payload, cause: EndCause) -> Payload:
        """Ends the episode and returns what the game core is told.

        Args:
          payload: What the game core sent with the stop; None where the service ended the episode.
          cause: Why it is over.
        """
        return None

    def on_resume(self, missed: int | None) -> None:  # noqa: B027  # Most agents look at one tick at a time.
        """Learns that ticks are missing: the state is that of a snapshot, and the game has gone on without it.

        Args:
          missed: How many; None where the game core does not number its steps.
        """

    def state_dict(self) -> Tree:
        """Returns all that the next tick depends on."""
        state = {name: value for name, value in vars(self).items() if name not in ("context", "version")}
        return {"rng": self.context.rng.count, "version": version_text(self.version), "attributes": state}

    async def load_state_dict(self, state: Tree) -> None:
        """Takes over the state of another replica's agent.

        Raises:
          SnapshotError: It is no state of such an agent.
        """
        if not isinstance(state, dict) or not isinstance(state.get("attributes"), dict):
            raise SnapshotError(f"the state of a {type(self).__name__} has attributes, got {type(state).__name__}")
        self.context.rng.count = cast("int", state["rng"])
        self.version = version_of_text(cast("str | None", state["version"]))
        vars(self).update(cast("dict[str, Tree]", state["attributes"]))


def version_text(version: Version | None) -> str | None:
    """Returns a version as a state holds it."""
    return None if version is None else str(version)


def version_of_text(text: str | None) -> Version | None:
    """Returns the version of ``version_text``."""
    return None if text is None else Version.parse(text)
