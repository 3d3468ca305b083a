"""One contract for every placement and engine: the same questions get the same answers."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import nn

from app.models.batching import BatchLimits
from app.models.distributions.action import act
from app.models.engine import Engine
from app.models.model import Model, Output
from app.models.module import call, spec_of
from app.models.question import GREEDY, Decision, Leaves, Question
from app.models.torch_engine import TorchEngine
from app.types import UNTRAINED, Version
from tests.contract_policies import KINDS
from tests.models.places import PLACES, Store

if TYPE_CHECKING:
    from app.models.placement import LocalModel

ENGINES: dict[str, Callable[[nn.Module], Engine]] = {"torch": TorchEngine}
LIMITS = {
    "as they come": BatchLimits(),
    "padded": BatchLimits(max_rows=8, pad_to=(1, 4, 8)),
    "small": BatchLimits(max_rows=2),
}
ROWS = 7
TOLERANCE = 1e-5

every_kind = pytest.mark.parametrize("kind", KINDS)
every_place = pytest.mark.parametrize("place", PLACES)
every_engine = pytest.mark.parametrize("engine", ENGINES)
all_limits = pytest.mark.parametrize("limits", LIMITS)


@asynccontextmanager
async def placed(kind: str, place: str, engine: str, limits: str = "as they come") -> AsyncIterator[Model]:
    """Yields a model with the weights of seed 0."""
    store = Store(KINDS[kind])
    async with PLACES[place](ENGINES[engine](KINDS[kind](0)), store, LIMITS[limits]) as model:
        yield model


def drawn(part: Sequence[Any], rows: int, seed: int) -> Leaves:
    source = np.random.default_rng(seed)
    return [(source.random((rows, *leaf.shape)) * 3).astype(leaf.dtype) for leaf in part]


class Case:
    """Random rows, and what the network itself says to them."""

    def __init__(self, kind: str, seed: int = 0) -> None:
        self.module = KINDS[kind](seed).eval()
        self.spec = spec_of(self.module)
        self.inputs = drawn(self.spec.inputs.leaves, ROWS, 1)
        self.states = drawn(self.spec.states.leaves, ROWS, 2)
        with torch.inference_mode():
            outputs, states = call(self.module, self.spec, *map(_tensors, (self.inputs, self.states)))
        self.outputs: Leaves = [x.numpy() for x in outputs]
        self.next_states: Leaves = [x.numpy() for x in states]

    def observation(self, row: int | slice) -> Any:
        return self.spec.inputs.unflatten([leaf[row] for leaf in self.inputs])

    def state(self, row: int | slice) -> Any:
        return self.spec.states.unflatten([leaf[row] for leaf in self.states]) if self.states else None

    def check(self, got: Output, row: int | slice, version: Version = UNTRAINED) -> None:
        assert got.version == version
        _near(self.spec.answers.flatten(got.outputs), [leaf[row] for leaf in self.outputs])
        _near(self.spec.states.flatten(got.state), [leaf[row] for leaf in self.next_states])

    def masks(self) -> list[NDArray[np.bool_]]:
        source = np.random.default_rng(5)
        masks = [source.random((ROWS, leaf.choices)) < 0.5 for leaf in self.spec.actions.leaves]
        for mask in masks:
            mask[:, 0] |= ~mask.any(axis=1)
        return masks


def _tensors(leaves: Leaves) -> list[torch.Tensor]:
    return [torch.from_numpy(leaf) for leaf in leaves]


def _near(got: Leaves, wanted: Leaves) -> None:
    assert len(got) == len(wanted)
    for leaf, expected in zip(got, wanted, strict=True):
        assert np.shape(leaf) == np.shape(expected)
        np.testing.assert_allclose(leaf, expected, atol=TOLERANCE)


@every_kind
@every_place
@every_engine
@all_limits
async def test_a_batch_is_answered_as_the_network_answers_it(kind: str, place: str, engine: str, limits: str) -> None:
    case = Case(kind)
    async with placed(kind, place, engine, limits) as model:
        case.check(await model.forward(case.observation(slice(None)), case.state(slice(None))), slice(None))


@every_kind
@every_place
@every_engine
@all_limits
async def test_observations_that_are_asked_one_by_one_at_the_same_time_get_their_own_answers(
    kind: str, place: str, engine: str, limits: str
) -> None:
    case = Case(kind)
    async with placed(kind, place, engine, limits) as model:
        answers = await asyncio.gather(*(model.forward(case.observation(row), case.state(row)) for row in range(ROWS)))
    for row, answer in enumerate(answers):
        case.check(answer, row)


@every_kind
@every_engine
@all_limits
async def test_an_answer_at_once_is_the_same(kind: str, engine: str, limits: str) -> None:
    case = Case(kind)
    async with placed(kind, "local", engine, limits) as model:
        local_model = cast("LocalModel", model)
        case.check(local_model.forward_now(case.observation(slice(None)), case.state(slice(None))), slice(None))
        case.check(local_model.forward_now(case.observation(3), case.state(3)), 3)


@every_kind
@every_place
@every_engine
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("greedy", [False, True])
async def test_decisions_are_those_of_the_networks_answer(
    kind: str, place: str, engine: str, masked: bool, greedy: bool
) -> None:
    case, masks = Case(kind), Case(kind).masks()
    draws = len(case.spec.actions)
    uniforms = np.random.default_rng(6).random((ROWS, draws))
    expected = act(
        case.spec.actions,
        cast("list[NDArray[np.float32]]", case.outputs[:-1]),
        np.full((ROWS, draws), np.nan) if greedy else uniforms,
        list(masks) if masked else [None] * draws,
    )

    def question(row: int) -> Question:
        mask = case.spec.actions.unflatten([leaf[row] for leaf in masks]) if masked else None
        return Question(
            case.observation(row), GREEDY if greedy else uniforms[row].tolist(), mask, None, case.state(row)
        )

    async with placed(kind, place, engine) as model:
        decided: list[Decision] = list(await asyncio.gather(*map(_decide, [model] * ROWS, map(question, range(ROWS)))))
    for row, decision in enumerate(decided):
        assert case.spec.actions.flatten(decision.action) == [leaf[row] for leaf in expected.actions]
        assert decision.log_prob == pytest.approx(expected.log_probs[row], abs=TOLERANCE)
        assert decision.value == pytest.approx(case.outputs[-1][row], abs=TOLERANCE)
        _near(case.spec.states.flatten(decision.state), [leaf[row] for leaf in case.next_states])
        assert not masked or all(mask[row][chosen] for mask, chosen in zip(
            masks, case.spec.actions.flatten(decision.action), strict=True
        ))  # fmt: skip


@every_kind
@every_place
@every_engine
async def test_each_version_answers_its_own_questions(kind: str, place: str, engine: str) -> None:
    old, older = Case(kind, 3), Case(kind, 4)
    async with placed(kind, place, engine) as model:
        held = [await model.ensure(Version(1, seed)) for seed in (3, 4)]
        assert held == [Version(1, 3), Version(1, 4)]
        rows = slice(None)
        answers = await asyncio.gather(
            *(model.forward(old.observation(rows), old.state(rows), version) for version in (*held, None))
        )
        for version in held:
            model.release(version)
    old.check(answers[0], rows, Version(1, 3))
    older.check(answers[1], rows, Version(1, 4))
    Case(kind).check(answers[2], rows)


@every_place
@every_engine
async def test_a_game_of_a_recurrent_model_goes_on_from_the_state_that_it_was_given(place: str, engine: str) -> None:
    case = Case("recurrent")
    async with placed("recurrent", place, engine) as model:
        state: Any = None
        for tick in range(1, 4):
            decision = await model.decide(Question(case.observation(0), GREEDY, None, None, state))
            state = decision.state
            assert state["ticks"] == tick
        first = await model.decide(Question(case.observation(0), GREEDY))
        assert first.state["ticks"] == 1


async def _decide(model: Model, question: Question) -> Decision:
    return await model.decide(question)
