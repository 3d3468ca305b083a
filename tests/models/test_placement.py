import asyncio

import numpy as np
import pytest

from app.errors import ModelMismatchError
from app.models.engine import Answer
from app.models.module import to_arrays
from app.models.placement import LocalModel, RemoteModel
from app.models.question import GREEDY, Leaves, Question
from app.models.torch_engine import TorchEngine
from app.models.versions import Bound
from app.models.waiting import Within
from app.types import Arrays, Version
from tests.small_policy import small_policy

MOST = 3
OBSERVATION = np.array([1, -2], np.float32)


class WeightStore:
    """Keeps the weights of generation 1: number n is seed n."""

    def __init__(self) -> None:
        self.fetched: list[Version] = []

    async def fetch(self, version: Version) -> Arrays:
        self.fetched.append(version)
        if version.generation != 1:
            raise ModelMismatchError(f"weights {version} are no longer kept")
        return to_arrays(small_policy(version.number))


def local(store: WeightStore | None = None) -> LocalModel:
    return LocalModel(TorchEngine(small_policy(0), bound=Bound(versions=MOST)), (store or WeightStore()).fetch)


class OtherProcess:
    """The other end of a remote model, in this process."""

    def __init__(self, model: LocalModel) -> None:
        self.ensure, self.release = model.ensure, model.release
        self._engine = model.engine

    async def forward(self, inputs: Leaves, states: Leaves, version: Version | None, within: Within) -> Answer:
        return self._engine.forward(inputs, states, version)


def remote(model: LocalModel) -> RemoteModel:
    return RemoteModel(model.spec, OtherProcess(model))


async def value_of(model: LocalModel | RemoteModel, version: Version | None = None) -> float:
    return (await model.decide(Question(OBSERVATION, GREEDY, None, version))).value


def value_by(seed: int) -> float:
    return float(TorchEngine(small_policy(seed)).forward([OBSERVATION[None]]).outputs[1][0])


@pytest.mark.parametrize("place", [lambda model: model, remote])
async def test_a_version_answers_as_it_did_however_often_new_weights_come(place: object) -> None:
    engine_side = local()
    model: LocalModel | RemoteModel = place(engine_side)  # type: ignore[operator]
    engine_side.engine.load(Version(1, 4), to_arrays(small_policy(4)))
    pinned = await model.ensure(None)
    assert pinned == Version(1, 4)
    engine_side.engine.load(Version(1, 5), to_arrays(small_policy(5)))
    assert await value_of(model, pinned) == pytest.approx(value_by(4))
    assert await value_of(model) == pytest.approx(value_by(5))


async def test_the_newest_weights_are_pinned_without_asking_the_store() -> None:
    store = WeightStore()
    model = local(store)
    assert await model.ensure(None) == Version(0, 0)
    assert await model.ensure(Version(0, 0)) == Version(0, 0)
    assert store.fetched == []


async def test_an_older_version_is_fetched_once() -> None:
    store = WeightStore()
    model = local(store)
    assert await model.ensure(Version(1, 3)) == Version(1, 3)
    assert await model.ensure(Version(1, 3)) == Version(1, 3)
    assert store.fetched == [Version(1, 3)]
    assert await value_of(model, Version(1, 3)) == pytest.approx(value_by(3))


async def test_a_version_that_nobody_keeps_is_not_pinned() -> None:
    model = local()
    with pytest.raises(ModelMismatchError, match=r"9\.9 are no longer kept"):
        await model.ensure(Version(9, 9))
    assert not model.engine.has(Version(9, 9))


@pytest.mark.parametrize("place", [lambda model: model, remote])
async def test_a_version_in_play_outlives_many_others_and_leaves_after_its_release(place: object) -> None:
    engine_side = local()
    model: LocalModel | RemoteModel = place(engine_side)  # type: ignore[operator]
    await model.ensure(Version(1, 1))
    for number in range(2, 3 * MOST):
        model.release(await model.ensure(Version(1, number)))
    assert await value_of(model, Version(1, 1)) == pytest.approx(value_by(1))
    model.release(Version(1, 1))
    for number in range(30, 30 + MOST):
        model.release(await model.ensure(Version(1, number)))
    assert not engine_side.engine.has(Version(1, 1))


@pytest.mark.parametrize("place", [lambda model: model, remote])
@pytest.mark.parametrize(
    ("question", "message"),
    [
        (Question(np.zeros(3, np.float32), GREEDY), r"float32 \(3,\); the model takes float32 \(2,\)"),
        (Question(np.zeros(2, np.float64), GREEDY), "observation is float64"),
        (Question(OBSERVATION, GREEDY, np.zeros(2, bool)), "at least one true"),
        (Question(OBSERVATION, GREEDY, np.ones(3, bool)), "takes 2 booleans"),
        (Question(OBSERVATION, GREEDY, np.ones(2, np.int64)), "takes 2 booleans"),
    ],
)
async def test_a_question_that_does_not_fit_is_refused_before_it_spoils_a_batch(
    place: object, question: Question, message: str
) -> None:
    model: LocalModel | RemoteModel = place(local())  # type: ignore[operator]
    good = [model.decide(Question(OBSERVATION, GREEDY)) for _ in range(4)]
    with pytest.raises(ValueError, match=message):
        model.decide(question)
    good += [model.decide(Question(OBSERVATION, GREEDY)) for _ in range(3)]
    assert [d.value for d in await asyncio.gather(*good)] == [pytest.approx(value_by(0))] * 7
    assert model.queue.batches == 1
