"""Plays what came in a recorded session once more, with another model behind the same agent."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from app.agents.agent import Agent, AgentContext
from app.errors import RecordingError, StepError
from app.models.around import ModelAround
from app.models.model import Model
from app.models.question import Decision, Question
from app.recordings.reading import Episode, RecordedStep
from app.seeding import Draws
from app.sessions.blackboard import Board
from app.sessions.game import Game
from app.sessions.session import EndCause
from app.types import Purpose, StepKind, Version
from app.wire.payload import Codec
from app.wire.steps import body_bytes

BOARD_TIMEOUT_S: Final = 0.0
"""Longest wait for a value of another agent: there is none."""

MakeAgent = Callable[[AgentContext], Agent]


@dataclass(frozen=True, slots=True)
class Asked:
    """One question of the agent to its model."""

    question: Question
    decision: Decision


@dataclass(slots=True)
class Again:
    """One recorded step, and what came of it this time."""

    step: RecordedStep
    output: bytes | None = None
    error: str | None = None
    """What went wrong in its place; None where nothing did."""
    asked: list[Asked] = field(default_factory=list)
    """What the agent asked its model; several questions in a row are possible."""


class OtherModel(ModelAround):
    """A model that answers in place of every version, and notes what it is asked."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.noted: list[Asked] = []

    async def decide(self, question: Question) -> Decision:
        """Returns the decision, whatever version is asked for."""
        question.version, question.explains = None, True
        decision = await self._model.decide(question)
        self.noted.append(Asked(question, decision))
        return decision

    async def ensure(self, version: Version | None) -> Version:
        """Returns the version that a start asks for, or the first: it is this model that answers."""
        return Version(0, 0) if version is None else version

    def release(self, version: Version) -> None:
        """Does nothing: nothing is held."""


async def play_again(episode: Episode, make: MakeAgent, model: Model) -> list[Again]:
    """Returns each start, tick and stop of a session, as the agent answers it with another model.

    The agent gets what came then, in the same order, and the same random numbers; its own state, a recurrent one too,
    follows from the other model's answers. What came does not: the game is not played anew.

    Args:
      episode: What was recorded, from its start on.
      make: Makes the agent of the recording.
      model: Who decides in place of the recorded version.

    Raises:
      RecordingError: It does not begin with the start, or what came was not recorded.
    """
    steps = [step for step in episode.steps if step.event != "row"]
    _check_whole(episode, steps)
    other, rng, game = OtherModel(model), Draws(episode.seed), Game(episode.game)
    board = Board(game, episode.session, BOARD_TIMEOUT_S)
    context = AgentContext(
        session=episode.session,
        purpose=Purpose(episode.purpose),
        rng=rng,
        model=other,
        unroll=None,
        report=lambda _returned, _ticks: None,
        board=board,
    )
    agent = make(context)
    codec = agent.payloads()
    found: list[Again] = []
    for step in steps:
        rng.count = step.draws
        other.noted = []
        board.enter()
        again = Again(step)
        try:
            again.output = await _answer(agent, codec, step)
        except StepError as error:
            again.error = f"{error.code}: {error}"
        finally:
            board.leave()
        again.asked = other.noted
        found.append(again)
    return found


async def _answer(agent: Agent, codec: Codec, step: RecordedStep) -> bytes | None:
    if step.event == "end":
        await agent.on_episode(None, EndCause(step.cause or EndCause.SHUTDOWN))
        return None
    kind = StepKind(step.event)
    payload = codec.decode(step.input or b"", kind)
    match kind:
        case StepKind.START:
            answer = await agent.on_start(payload)
        case StepKind.TICK:
            answer = await agent.on_tick(payload)
        case _:
            answer = await agent.on_episode(payload, EndCause.STOP)
    return body_bytes(codec.encode(answer, kind))


def _check_whole(episode: Episode, steps: Sequence[RecordedStep]) -> None:
    where = f"{episode.path}: session {episode.session!r}"
    if not steps or steps[0].event != "start":
        first = steps[0].event if steps else "nothing"
        raise RecordingError(
            f"{where} begins with a {first}; allowed is a recording from the start on, for the agent's state before it "
            "is not known"
        )
    if any(step.event == "tick" and step.input is None for step in steps):
        raise RecordingError(
            f"{where} does not hold what came; allowed is one that was recorded with record.payloads: true and without "
            "removed bodies"
        )
