import asyncio

from app.metrics.names import MODEL_BATCH_ROWS, MODEL_BATCH_SECONDS, TICK_SECONDS
from app.metrics.registry import Registry
from app.models.queue import RemoteQueue
from app.models.times import ModelTimes
from tests.models.test_queue import SPEC, Network, Remote, bounded, local, question


async def test_decisions_and_batches_of_a_model_are_timed() -> None:
    registry, queue = Registry(), local(Network())
    queue.times = ModelTimes(registry, "main")
    await asyncio.gather(*(queue.decide(question(value)) for value in (1, 2, 3)))
    found = {part.metric.name: part.summary for part in registry.whole()}
    assert (found[TICK_SECONDS.name].count, found[MODEL_BATCH_SECONDS.name].count) == (3, 1)
    assert found[MODEL_BATCH_ROWS.name].max == 3
    assert found[TICK_SECONDS.name].min >= found[MODEL_BATCH_SECONDS.name].max
    assert {dict(part.labels)["model"] for part in registry.whole()} == {"main"}


async def test_a_model_that_answers_others_times_its_batches_alone() -> None:
    registry, queue = Registry(), local(Network())
    queue.times = ModelTimes(registry, "main", "replica")
    await queue.decide(question(1))
    found = {part.metric.name: dict(part.labels) for part in registry.whole()}
    own = {"model": "main", "place": "replica"}
    assert found == {MODEL_BATCH_SECONDS.name: own, MODEL_BATCH_ROWS.name: own}


async def test_a_decision_of_another_process_is_timed_with_its_wait() -> None:
    registry, remote = Registry(), Remote()
    queue = RemoteQueue(SPEC, remote.call, bounded(100), 10.0)
    queue.times = ModelTimes(registry, "main")
    first = queue.decide(question(1))
    door = await asyncio.wait_for(remote.called.get(), 10)
    second = queue.decide(question(2))
    door.set_result(None)
    (await asyncio.wait_for(remote.called.get(), 10)).set_result(None)
    await asyncio.wait_for(asyncio.gather(first, second), 10)
    found = {part.metric.name: part.summary for part in registry.whole()}
    assert (found[TICK_SECONDS.name].count, found[MODEL_BATCH_SECONDS.name].count) == (2, 2)
