"""A recorded session, step by step."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from app.types import RowKind
from app.wire.steps import Json

Leaves = Mapping[str, NDArray[np.generic]]
"""Parts of a nested value by path; "" is the path of one that stands alone."""


@dataclass(frozen=True, slots=True)
class RecordedStep:
    """One line of a recording."""

    event: str
    """``start``, ``tick``, ``stop``, ``end`` where the service ended it, or ``row``."""
    seq: int
    at_s: float
    """Seconds since 1970."""
    draws: int
    """Random numbers that the session had drawn before."""
    input: bytes | None
    output: bytes | None
    error: str | None
    cause: str | None
    version: str | None
    """Weights behind the answer, such as ``1.57``."""
    agent_ms: float
    model_ms: float
    is_row: bool
    """Whether reward and kind are known: it is a row to learn from."""
    has_decision: bool
    """Whether observation, action, value and log-probability are known."""
    kind: RowKind
    reward: NDArray[np.float32]
    """[] or [rewards]; what the action earned."""
    value: NDArray[np.float32]
    """[] or [rewards]."""
    log_prob: float
    observation: Leaves
    action: Leaves
    action_mask: Leaves
    state: Leaves
    dist_inputs: Leaves
    """What the action was drawn from; none where nobody told."""

    @property
    def has_observation(self) -> bool:
        """Whether the observation is known: of a step that was decided, and of a bootstrap row."""
        return self.is_row or self.has_decision

    def input_json(self) -> Json:
        """Returns what came, parsed; None where it is no JSON."""
        return _json(self.input)

    def output_json(self) -> Json:
        """Returns what was answered, parsed; None where it is no JSON."""
        return _json(self.output)


@dataclass(frozen=True, eq=False)
class Episode:
    """One session of a recorded game, or a part of a long one."""

    session: str
    game: str
    agent: str
    purpose: str
    why: str
    """What it was recorded for: ``every``, ``asked`` or an alarm's words."""
    seed: int
    """Of the session's random numbers."""
    path: Path
    number: int
    """Its place in the file, from 0."""
    spec: Mapping[str, Any]
    """Shapes of the model, as ``app.recordings.schema.spec_document`` tells; empty without one."""
    renders: Mapping[str, str]
    """Import paths of the functions that show the game, by name, as its config named them."""
    steps: tuple[RecordedStep, ...]

    @property
    def ticks(self) -> list[RecordedStep]:
        """Returns its ticks alone."""
        return [step for step in self.steps if step.event == "tick"]

    @property
    def start(self) -> RecordedStep | None:
        """Returns its start, whose input are the options; None where it was not recorded from the start."""
        return next((step for step in self.steps if step.event == "start"), None)

    @property
    def stop(self) -> RecordedStep | None:
        """Returns its end; None where more of it is recorded in another part."""
        return next((step for step in reversed(self.steps) if step.event in ("stop", "end")), None)

    @cached_property
    def returned(self) -> float:
        """Sum of all rewards."""
        return float(sum(float(step.reward.sum()) for step in self.steps if step.is_row))

    @property
    def rewards(self) -> tuple[str, ...]:
        """Returns the names of its rewards; none where there is one."""
        return tuple(self.spec.get("rewards", ()))


def _json(body: bytes | None) -> Json:
    if not body:
        return None
    try:
        value: Json = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    return value
