import asyncio
import threading

import numpy as np
import pytest

from app.errors import AgentError, ModelMismatchError, OverloadedError
from app.models.loading import LOADS_MAX, WeightsLoader
from app.models.module import to_arrays
from app.models.placement import LocalModel
from app.models.question import GREEDY, Question
from app.models.torch_engine import TorchEngine
from app.models.versions import Bound
from app.types import Arrays, Version
from tests.small_policy import small_policy

OBSERVATION = np.array([1, -2], np.float32)


def v(number: int) -> Version:
    return Version(1, number)


class Store:
    """Answers a fetch when its door is opened; number n is seed n."""

    def __init__(self) -> None:
        self.fetched: list[Version] = []
        self.doors: dict[Version, asyncio.Future[None]] = {}

    async def fetch(self, version: Version) -> Arrays:
        self.fetched.append(version)
        await self.doors.setdefault(version, asyncio.get_running_loop().create_future())
        return to_arrays(small_policy(version.number))

    async def open(self, version: Version, error: Exception | None = None) -> None:
        """Lets a fetch end that has begun."""
        while version not in self.doors:  # noqa: ASYNC110  # Nothing to wait for: a task begins in the next turn.
            await asyncio.sleep(0)
        if error is None:
            self.doors[version].set_result(None)
        else:
            self.doors.pop(version).set_exception(error)


def model_of(store: Store, most: int = 8, timeout_s: float = 30) -> LocalModel:
    model = LocalModel(TorchEngine(small_policy(0), bound=Bound(most)), store.fetch)
    model.weights = WeightsLoader(model.engine, store.fetch, timeout_s)
    return model


async def value_of(model: LocalModel, version: Version | None = None) -> float:
    return (await model.decide(Question(OBSERVATION, GREEDY, None, version))).value


def value_by(seed: int) -> float:
    return float(TorchEngine(small_policy(seed)).forward([OBSERVATION[None]]).outputs[1][0])


async def test_a_cold_version_keeps_nobody_waiting_but_those_who_asked_for_it() -> None:
    store = Store()
    model = model_of(store)
    cold = asyncio.create_task(model.ensure(v(3)))
    for _ in range(50):
        assert await value_of(model) == pytest.approx(value_by(0))
    assert not cold.done()
    await store.open(v(3))
    assert await cold == v(3)
    assert await value_of(model, v(3)) == pytest.approx(value_by(3))


async def test_all_who_wait_for_one_cold_version_share_one_fetch() -> None:
    store = Store()
    model = model_of(store)
    waiting = [asyncio.create_task(model.ensure(v(3))) for _ in range(20)]
    await store.open(v(3))
    assert await asyncio.gather(*waiting) == [v(3)] * 20
    assert store.fetched == [v(3)]


async def test_one_who_gives_up_leaves_the_fetch_to_the_others() -> None:
    store = Store()
    model = model_of(store)
    impatient, patient = (asyncio.create_task(model.ensure(v(3))) for _ in range(2))
    await asyncio.sleep(0)
    impatient.cancel()
    await store.open(v(3))
    assert await patient == v(3)
    with pytest.raises(asyncio.CancelledError):
        await impatient


async def test_a_failed_fetch_fails_who_asked_and_the_next_one_is_tried_anew() -> None:
    store = Store()
    model = model_of(store)
    waiting = [asyncio.create_task(model.ensure(v(3))) for _ in range(3)]
    other = asyncio.create_task(model.ensure(v(4)))
    await store.open(v(3), OSError("the node is gone"))
    for outcome in await asyncio.gather(*waiting, return_exceptions=True):
        assert isinstance(outcome, AgentError)
        assert str(outcome) == "weights 1.3 could not be loaded: OSError: the node is gone"
    await store.open(v(4))
    assert await other == v(4)
    again = asyncio.create_task(model.ensure(v(3)))
    await store.open(v(3))
    assert await again == v(3)


async def test_a_version_that_nobody_keeps_is_told_as_such() -> None:
    store = Store()
    asked = asyncio.create_task(model_of(store).ensure(v(3)))
    await store.open(v(3), ModelMismatchError("weights 1.3 are no longer kept"))
    with pytest.raises(ModelMismatchError, match=r"1\.3 are no longer kept"):
        await asked


async def test_a_fetch_that_does_not_end_is_given_up() -> None:
    with pytest.raises(AgentError, match=r"weights 1\.3 did not come within 0\.02 s"):
        await model_of(Store(), timeout_s=0.02).ensure(v(3))


async def test_too_many_versions_on_their_way_are_refused() -> None:
    store = Store()
    model = model_of(store, most=1000)
    waiting = [asyncio.create_task(model.ensure(v(number))) for number in range(1, LOADS_MAX + 1)]
    await asyncio.sleep(0)
    with pytest.raises(OverloadedError, match=f"{LOADS_MAX} versions of weights are on their way"):
        await model.ensure(v(99))
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    for number in range(1, LOADS_MAX + 1):
        await store.open(v(number))
    await asyncio.gather(*model.weights._loading.values())


async def test_a_game_that_begins_joins_the_newest_version_in_play_where_no_other_finds_room() -> None:
    model = model_of(Store(), most=2)
    for number in (1, 2):
        model.engine.load(v(number), to_arrays(small_policy(number)))
        assert await model.ensure(None) == v(number)
    model.engine.load(v(3), to_arrays(small_policy(3)))
    assert await model.ensure(None) == v(2)
    assert await value_of(model) == pytest.approx(value_by(3))
    model.release(v(1))
    assert await model.ensure(None) == v(3)
    assert await value_of(model, v(3)) == pytest.approx(value_by(3))


async def test_weights_are_built_in_another_thread_and_exchanged_on_the_loop() -> None:
    model = model_of(Store())
    engine, build = model.engine, model.engine.build
    entered, leave, threads = threading.Event(), threading.Event(), set()

    def slow(arrays: Arrays) -> object:
        threads.add(threading.current_thread())
        entered.set()
        assert leave.wait(10)
        return build(arrays)

    engine.build = slow  # type: ignore[method-assign, assignment]
    taking = asyncio.create_task(model.weights.take(v(7), to_arrays(small_policy(7))))
    while not entered.is_set():
        assert await value_of(model) == pytest.approx(value_by(0))
    assert engine.version != v(7)
    leave.set()
    await taking
    assert (engine.version, await value_of(model)) == (v(7), pytest.approx(value_by(7)))
    assert threading.main_thread() not in threads


async def test_whatever_loading_raises_says_that_the_weights_do_not_fit_and_older_ones_answer_on() -> None:
    model = model_of(Store())
    before = await value_of(model)
    words = {name: np.full(array.shape, "w") for name, array in to_arrays(small_policy(1)).items()}
    with pytest.raises(ModelMismatchError, match="these weights cannot be loaded: TypeError: can't convert"):
        await model.weights.take(v(1), words)
    assert await value_of(model) == before
    assert model.engine.version == Version(0, 0)
