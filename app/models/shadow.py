"""A version that answers beside the one that plays: what is collected for it, and how its answers compare."""

from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np

from app.models.engine import Engine
from app.models.question import Decision, Prepared, Question, decisions, prepare, stacked
from app.nested import Structure
from app.releases.statistics import ShadowStatistics
from app.types import Amount, SessionId

WAITING_MAX: Final = 256
"""Samples that may wait for the shadow in one replica; a further one is dropped and counted."""
STATES_MAX: Final = 10_000
"""Sessions whose recurrent state the shadow keeps; the least recently used leaves first."""
TOLERANCE: Final = 1e-3
"""Largest difference, relative and absolute, of two continuous actions that count as the same."""


class Sample(NamedTuple):
    """What was asked, and what the session was told."""

    session: SessionId
    tick: int
    """How often the session had asked before; only the shadow of a recurrent model looks at it."""
    question: Question
    action: Any
    value: Amount


class Tap:
    """Collects samples without ever waiting."""

    def __init__(self) -> None:
        self.dropped = 0
        """Samples that found no room since the last look."""
        self._waiting: deque[Sample] = deque()

    def saw(self, session: SessionId, tick: int, question: Question, decision: Decision) -> None:
        """Takes a sample, or drops it where too many wait."""
        if len(self._waiting) >= WAITING_MAX:
            self.dropped += 1
        else:
            self._waiting.append(Sample(session, tick, question, decision.action, decision.value))

    def take(self, most: int) -> list[Sample]:
        """Takes the oldest samples."""
        return [self._waiting.popleft() for _ in range(min(most, len(self._waiting)))]

    def take_dropped(self) -> int:
        """Returns how many were dropped since the last call."""
        dropped, self.dropped = self.dropped, 0
        return dropped


class Shadow:
    """Asks one version what it would have done."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._states: OrderedDict[SessionId, tuple[int, Any]] = OrderedDict()
        """Next tick and state of each session; a session that has lost a tick is in none."""

    def compare(self, samples: Sequence[Sample]) -> ShadowStatistics:
        """Returns how its answers compare; whatever the network raises is counted as failed."""
        total = ShadowStatistics()
        for round_ in self._rounds(samples):
            asked = [prepared for sample in round_ if (prepared := self._prepared(sample)) is not None]
            if asked:
                total += self._answered(asked)
        return total

    def _rounds(self, samples: Sequence[Sample]) -> list[list[Sample]]:
        """Returns batches in which no session of a recurrent model stands twice: each tick needs the one before."""
        if not len(self._engine.spec.states):
            return [list(samples)]
        rounds: list[list[Sample]] = []
        seen: dict[SessionId, int] = {}
        for sample in samples:
            at = seen[sample.session] = seen.get(sample.session, -1) + 1
            if at == len(rounds):
                rounds.append([])
            rounds[at].append(sample)
        return rounds

    def _prepared(self, sample: Sample) -> tuple[Sample, Prepared] | None:
        """Returns a sample as the engine takes it; None where the state before it is not known."""
        spec, question = self._engine.spec, sample.question
        state = None
        if len(spec.states) and sample.tick:
            next_tick, state = self._states.pop(sample.session, (-1, None))
            if next_tick != sample.tick:
                return None
        return sample, prepare(replace(question, version=None, state=state, explains=False), spec)

    def _answered(self, asked: Sequence[tuple[Sample, Prepared]]) -> ShadowStatistics:
        spec = self._engine.spec
        rows = [prepared for _, prepared in asked]
        try:
            answer = self._engine.forward(*stacked(spec, rows), None)
            decided = decisions(spec, rows, answer.outputs, answer.states, answer.version)
        except Exception:  # noqa: BLE001  # The user's network may raise anything.
            return ShadowStatistics(failed=len(rows))
        total = ShadowStatistics()
        for (sample, _), decision in zip(asked, decided, strict=True):
            if isinstance(decision, ValueError):
                total += ShadowStatistics(failed=1)
                continue
            agreed = same_action(spec.actions, sample.action, decision.action)
            total += ShadowStatistics(
                1, int(agreed), value_difference=float(np.abs(sample.value - decision.value).max())
            )
            if len(spec.states):
                self._keep(sample, decision.state)
        return total

    def _keep(self, sample: Sample, state: Any) -> None:
        self._states[sample.session] = (sample.tick + 1, state)
        if len(self._states) > STATES_MAX:
            self._states.popitem(last=False)


def same_action(actions: Structure[Any], one: Any, other: Any) -> bool:
    """Returns whether two actions are the same: equal choices, and continuous ones within ``TOLERANCE``."""
    pairs = zip(actions.flatten(one), actions.flatten(other), strict=True)
    return all(
        a == b if isinstance(a, int) else bool(np.allclose(a, b, rtol=TOLERANCE, atol=TOLERANCE)) for a, b in pairs
    )
