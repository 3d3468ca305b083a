"""Decisions by search over a served model."""

from collections.abc import Awaitable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.agents.search_model import SearchModel
from app.errors import AgentError, BadPayloadError, SparringError
from app.games.connect_four.rules import COLUMNS, ROWS, Position
from app.models.distributions.categorical import Categorical
from app.models.distributions.gaussian import Gaussian
from app.models.model import Output
from app.models.question import GREEDY, Decision, Question
from app.models.spec import ArraySpec, ModelSpec
from app.planning.search import SearchSettings
from app.types import Version

SHAPE = (2, ROWS, COLUMNS)


class Judge:
    """Thinks the same of all positions, and counts what it is asked."""

    def __init__(self, logits: Any = (0.0,) * COLUMNS, value: float = 0.0) -> None:
        self.spec = ModelSpec(ArraySpec(SHAPE), Categorical(COLUMNS))
        self.rows: list[int] = []
        self.versions: list[Version | None] = []
        self._logits = np.array(logits, np.float32)
        self._value = value

    def decide(self, question: Question) -> Awaitable[Decision]:
        raise NotImplementedError("a search asks for evaluations")

    async def forward(self, observation: Any, state: Any = None, version: Version | None = None) -> Output:
        assert observation.dtype == np.float32
        assert observation.shape[1:] == SHAPE
        rows = len(observation)
        self.rows.append(rows)
        self.versions.append(version)
        outputs = {"dist_inputs": np.tile(self._logits, (rows, 1)), "value": np.full(rows, self._value, np.float32)}
        return Output(outputs, None, version or Version(1, len(self.rows)))

    async def ensure(self, version: Version | None) -> Version:
        return version or Version(1, 0)

    def release(self, version: Version) -> None:
        """Holds nothing."""


def after(*columns: int) -> Position:
    position = Position.first()
    for column in columns:
        position = position.play(column)
    return position


def searching(judge: Judge | None = None, simulations: int = 60, *, temperature: float = 1, noisy: bool = False) -> Any:
    chosen = SearchSettings(simulations, batch=8)
    return SearchModel(judge or Judge(), Position, chosen, temperature, noisy=noisy)


async def test_the_best_action_wins_in_one() -> None:
    decision = await searching().decide(Question(after(0, 6, 1, 6, 2, 6).planes(), GREEDY))
    assert decision.action == 3
    assert decision.value > 0.5
    assert decision.state is None


async def test_the_decision_bears_the_version_that_judged_the_root_and_a_pinned_one_judges_all() -> None:
    judge = Judge()
    assert (await searching(judge).decide(Question(after().planes(), GREEDY))).version == Version(1, 1)
    assert judge.rows[0] == 1
    assert sum(judge.rows) == 1 + 60  # No game ends within two moves, so each simulation asks.
    assert max(judge.rows) <= 8
    pinned = Judge()
    decision = await searching(pinned).decide(Question(after().planes(), GREEDY, None, Version(1, 57)))
    assert decision.version == Version(1, 57)
    assert set(pinned.versions) == {Version(1, 57)}


async def test_the_log_probability_is_that_of_the_visits() -> None:
    # One simulation: the action of the largest prior has all visits.
    decision = await searching(Judge((0, 0, 5, 0, 0, 0, 0), value=0.5), 1).decide(Question(after().planes(), [0.3]))
    assert (decision.action, decision.log_prob) == (2, 0.0)
    assert decision.value == pytest.approx((0.5 - 0.5) / 2)


async def test_the_target_is_the_share_of_the_visits_whatever_the_temperature() -> None:
    # Two columns share two simulations: the first, which loses nothing, and the other of equal prior.
    judge = Judge((5, 5, -90, -90, -90, -90, -90), value=0.5)
    for temperature in (0, 1):
        model = SearchModel(judge, Position, SearchSettings(2), temperature, noisy=False)
        decision = await model.decide(Question(after().planes(), [0.3]))
        assert decision.policy_target is not None
        assert decision.policy_target.tolist() == [0.5, 0.5, 0, 0, 0, 0, 0]


async def test_values_beyond_an_outcome_are_taken_as_one() -> None:
    judge = Judge((0, 0, 0, 9, 0, 0, 0), value=9.0)  # It looks at the column that wins.
    decision = await searching(judge, 1).decide(Question(after(0, 6, 1, 6, 2, 6).planes(), GREEDY))
    assert decision.value == pytest.approx((1 + 1) / 2)


async def test_equal_questions_are_answered_alike_and_noise_follows_from_them() -> None:
    async def actions(*, noisy: bool) -> list[int]:
        model = searching(simulations=20, noisy=noisy)
        return [(await model.decide(Question(after().planes(), [u]))).action for u in np.linspace(0, 0.99, 20)]

    assert await actions(noisy=True) == await actions(noisy=True)
    assert await actions(noisy=True) != await actions(noisy=False)
    assert len(set(await actions(noisy=False))) > 3  # They are drawn.


async def test_without_temperature_the_most_visited_action_is_always_taken() -> None:
    model = searching(temperature=0)
    position = after(0, 6, 1, 6, 2, 6)
    for u in (0.0, 0.5, 0.999):
        decision = await model.decide(Question(position.planes(), [u]))
        assert (decision.action, decision.log_prob) == (3, 0.0)


@given(
    st.lists(st.integers(0, COLUMNS - 1), max_size=41),
    st.lists(st.booleans(), min_size=COLUMNS, max_size=COLUMNS),
    st.none() | st.floats(0, 1, exclude_max=True),
)
@settings(max_examples=30, deadline=None)
async def test_no_action_breaks_the_rules_or_the_mask(
    columns: list[int], mask: list[bool], uniform: float | None
) -> None:
    position = Position.first()
    for column in columns:
        if position.legal[column] and not position.play(column).over:
            position = position.play(column)
    allowed = np.array(mask)
    question = Question(position.planes(), GREEDY if uniform is None else [uniform], allowed)
    if not (allowed & position.legal).any():
        with pytest.raises(BadPayloadError, match="cannot be searched"):
            await searching().decide(question)
        return
    decision = await searching(simulations=12, noisy=True).decide(question)
    assert (allowed & position.legal)[decision.action]
    assert np.isfinite(decision.log_prob)


async def test_an_observation_that_no_game_shows_is_the_game_cores_fault() -> None:
    with pytest.raises(BadPayloadError, match="0 and 1"):
        await searching().decide(Question(np.full(SHAPE, 0.5, np.float32), GREEDY))


@pytest.mark.parametrize("judge", [Judge(value=float("nan")), Judge((0, 0, np.inf, 0, 0, 0, 0))])
async def test_an_answer_that_is_not_finite_is_the_networks_fault(judge: Judge) -> None:
    with pytest.raises(AgentError, match="not finite"):
        await searching(judge).decide(Question(after().planes(), GREEDY))


@pytest.mark.parametrize(
    "spec",
    [
        ModelSpec(ArraySpec(SHAPE), Gaussian((2,))),
        ModelSpec(ArraySpec(SHAPE), Categorical(7), state=ArraySpec((4,))),
        ModelSpec({"a": ArraySpec(SHAPE), "b": ArraySpec((1,))}, Categorical(7)),
        ModelSpec(ArraySpec(SHAPE), outputs=ArraySpec(())),
    ],
)
def test_a_model_that_cannot_be_searched_over_is_refused(spec: ModelSpec) -> None:
    judge = Judge()
    judge.spec = spec
    with pytest.raises(SparringError, match="one observation, one choice, one reward and no state"):
        searching(judge)
