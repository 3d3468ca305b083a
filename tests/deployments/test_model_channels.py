"""Questions to model replicas, over real connections."""

import asyncio
from collections import Counter
from contextlib import AsyncExitStack

import numpy as np
import pytest

from app.errors import DeadlineExceededError, OverloadedError
from app.models.batching import BatchLimits
from app.models.engine import Answer
from app.models.question import Leaves
from app.models.torch_engine import TorchEngine
from app.models.waiting import ALWAYS, Within
from app.types import Version
from deployments import model_channels
from deployments.model_channels import ModelChannels, NoChannelError
from tests.deployments.model_service import SECRET, Replica, channels, replica
from tests.deployments.wire_client import eventually
from tests.small_policy import TablePolicy, small_policy

NEVER_BY_ITSELF = BatchLimits(wait_s=3600)
"""Questions wait until somebody hurries."""


def value_engine() -> TorchEngine:
    """Values each observation by its first number."""
    return TorchEngine(TablePolicy([0.0, 1.0]))


def rows(*values: float) -> Leaves:
    return [np.array([[value, 0] for value in values], np.float32)]


async def ask(asked: ModelChannels, *values: float, within: Within = ALWAYS) -> list[float]:
    answer = await asked.forward(rows(*values), [], None, within)
    return [float(value) for value in answer.outputs[1]]


async def two_replicas(stack: AsyncExitStack, first: BatchLimits, second: BatchLimits) -> tuple[Replica, Replica]:
    one = await stack.enter_async_context(replica(value_engine(), first, "one"))
    other = await stack.enter_async_context(replica(value_engine(), second, "other"))
    return one, other


async def test_an_answer_is_that_of_the_replicas_engine() -> None:
    engine = TorchEngine(small_policy(3))
    async with replica(engine) as one, channels(one) as asked:
        answer = await asked.forward(rows(1, -2, 3), [], None, ALWAYS)
    expected = engine.forward(rows(1, -2, 3))
    for got, wanted in zip(answer.outputs, expected.outputs, strict=True):
        np.testing.assert_array_equal(got, wanted)
    assert answer.version == Version(0, 0)


async def test_calls_that_come_together_are_one_batch_and_each_gets_its_own_answer() -> None:
    async with replica(value_engine()) as one, channels(one) as asked:
        answers = await asyncio.gather(*(ask(asked, value, -value) for value in range(8)))
        assert answers == [[value, -value] for value in range(8)]
        assert one.batches == 1


async def test_a_pinned_version_that_is_not_kept_fails_its_own_caller_alone() -> None:
    async with replica(value_engine()) as one, channels(one) as asked:
        lost = asked.forward(rows(1), [], Version(3, 4), ALWAYS)
        outcomes = await asyncio.gather(lost, ask(asked, 2), return_exceptions=True)
    assert "KeyError" in str(outcomes[0])
    assert outcomes[1] == [2]


async def test_a_network_that_one_question_breaks_answers_the_others() -> None:
    class Choking(TorchEngine):
        def forward(self, inputs: Leaves, states: Leaves = (), version: Version | None = None) -> Answer:  # type: ignore[override,assignment]
            if -1 in inputs[0]:
                raise ValueError("the network chokes")
            return super().forward(inputs, states, version)

    async with replica(Choking(TablePolicy([0.0, 1.0]))) as one, channels(one) as asked:
        outcomes = await asyncio.gather(*(ask(asked, value) for value in (1, -1, 2)), return_exceptions=True)
    assert [outcomes[0], outcomes[2]] == [[1], [2]]
    assert "the network chokes" in str(outcomes[1])


async def test_a_cancelled_caller_hurts_no_neighbour() -> None:
    async with replica(value_engine()) as one, channels(one) as asked:
        calls = [asyncio.create_task(ask(asked, value)) for value in range(20)]
        await asyncio.sleep(0)
        for call in calls[::3]:
            call.cancel()
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        for value, outcome in enumerate(outcomes):
            if value % 3:
                assert outcome == [value]
            else:
                assert isinstance(outcome, asyncio.CancelledError)
        assert await ask(asked, 7) == [7]


async def test_a_late_call_is_not_computed_and_hurts_no_neighbour() -> None:
    async with replica(value_engine()) as one, channels(one) as asked:
        late = ask(asked, 1, within=Within(-1, -1))
        outcomes = await asyncio.gather(late, ask(asked, 2), return_exceptions=True)
        assert isinstance(outcomes[0], DeadlineExceededError)
        assert outcomes[1] == [2]
        assert one.answering.queue.late == 1


async def test_what_nobody_waits_for_any_more_is_not_computed() -> None:
    async with replica(value_engine(), NEVER_BY_ITSELF) as one:
        async with channels(one) as asked:
            call = asyncio.create_task(ask(asked, 1))
            await eventually(lambda: one.answering.queue.waiting_rows == 1)
        with pytest.raises(NoChannelError):
            await call
        await eventually(lambda: one.port.open_connections() == 0)
        one.answering.queue.hurry()
        await asyncio.sleep(0)
        assert (one.batches, one.answering.queue.waiting_rows) == (0, 0)


async def test_the_death_of_a_replica_sends_what_it_had_to_another() -> None:
    async with AsyncExitStack() as stack:
        one, other = await two_replicas(stack, NEVER_BY_ITSELF, NEVER_BY_ITSELF)
        asked = await stack.enter_async_context(channels(one, other))
        calls = [asyncio.create_task(ask(asked, value)) for value in range(6)]
        await eventually(lambda: one.answering.queue.waiting_rows + other.answering.queue.waiting_rows == 6)
        assert one.answering.queue.waiting_rows == 3
        one.die()
        await eventually(lambda: other.answering.queue.waiting_rows == 6)
        other.answering.queue.hurry()
        assert await asyncio.gather(*calls) == [[value] for value in range(6)]


async def test_the_last_replicas_death_is_told_and_a_new_one_is_found() -> None:
    async with AsyncExitStack() as stack:
        one, other = await two_replicas(stack, NEVER_BY_ITSELF, BatchLimits())
        listed = [one]

        async def find() -> list[model_channels.Endpoint]:
            return [replica.endpoint for replica in listed]

        asked = ModelChannels(find, one.answering.spec, SECRET, Counter())
        work = asyncio.create_task(asked.run())
        await eventually(lambda: asked.open == 1)
        call = asyncio.create_task(ask(asked, 1))
        await eventually(lambda: one.answering.queue.waiting_rows == 1)
        one.die()
        with pytest.raises(NoChannelError, match="no replica of the model is reached"):
            await call
        listed[:] = [other]
        await eventually(lambda: asked.open == 1)
        assert await ask(asked, 2) == [2]
        work.cancel()
        await asyncio.wait({work})
        assert asked.open == 0


async def test_who_has_the_least_to_do_is_asked() -> None:
    async with AsyncExitStack() as stack:
        slow, quick = await two_replicas(stack, NEVER_BY_ITSELF, BatchLimits())
        asked = await stack.enter_async_context(channels(slow, quick))
        stuck = [asyncio.create_task(ask(asked, *range(100))) for _ in range(2)]  # Each gets one.
        await eventually(lambda: slow.answering.queue.waiting_rows == 100 and quick.batches == 1)
        for value in range(20):
            assert await asyncio.wait_for(ask(asked, value), 5) == [value]
        assert quick.batches == 21
        slow.answering.queue.hurry()
        await asyncio.gather(*stuck)


async def test_equals_are_asked_by_turns() -> None:
    async with AsyncExitStack() as stack:
        one, other = await two_replicas(stack, BatchLimits(), BatchLimits())
        asked = await stack.enter_async_context(channels(one, other))
        for value in range(10):
            assert await ask(asked, value) == [value]
        assert (one.batches, other.batches) == (5, 5)


async def test_a_replica_that_is_full_sends_its_caller_to_another_and_all_of_them_say_so() -> None:
    async with AsyncExitStack() as stack:
        full = BatchLimits(max_waiting_rows=1, wait_s=3600)
        one, other = await two_replicas(stack, full, full)
        asked = await stack.enter_async_context(channels(one, other))
        calls = [asyncio.create_task(ask(asked, value)) for value in range(2)]
        await eventually(lambda: one.answering.queue.waiting_rows == other.answering.queue.waiting_rows == 1)
        with pytest.raises(OverloadedError, match="already wait for the model"):
            await ask(asked, 3)
        one.answering.queue.hurry()
        other.answering.queue.hurry()
        assert await asyncio.gather(*calls) == [[0], [1]]


async def test_a_replica_that_does_not_answer_is_left_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    async with AsyncExitStack() as stack:
        one, other = await two_replicas(stack, NEVER_BY_ITSELF, BatchLimits())
        asked = await stack.enter_async_context(channels(one, other))
        link = asked._links[one.endpoint]
        ask_in_time = link.ask
        # A hundredth of the time, and for the silent one alone: the other one, which answers, may be held up.
        monkeypatch.setattr(link, "ask", lambda *question: ask_in_time(*question[:-1], question[-1] / 100))
        assert await asyncio.gather(*(ask(asked, value) for value in range(4))) == [[value] for value in range(4)]
        one.answering.queue.hurry()


async def test_a_replica_that_is_no_longer_listed_answers_what_it_has() -> None:
    async with AsyncExitStack() as stack:
        one, other = await two_replicas(stack, NEVER_BY_ITSELF, BatchLimits())
        listed = [one]

        async def find() -> list[model_channels.Endpoint]:
            return [replica.endpoint for replica in listed]

        asked = ModelChannels(find, one.answering.spec, SECRET, Counter())
        stack.push_async_callback(asked.close)
        await asked.look()
        call = asyncio.create_task(ask(asked, 1))
        await eventually(lambda: one.answering.queue.waiting_rows == 1)
        listed[:] = [other]
        await asked.look()
        assert await ask(asked, 2) == [2]
        one.answering.queue.hurry()
        assert await call == [1]
        await asked.look()
        await eventually(lambda: one.port.open_connections() == 0)


async def test_a_caller_without_the_secret_is_refused() -> None:
    async with replica(value_engine()) as one, channels(one, secret="another") as asked:  # noqa: S106
        with pytest.raises(NoChannelError):
            await ask(asked, 1)
        assert one.port.counts["peers_refused"] == 1


async def test_a_caller_with_another_model_is_refused() -> None:
    async with replica(value_engine()) as one, replica(TorchEngine(TablePolicy([0.0, 1.0, 2.0]))) as another:
        another.endpoint = one.endpoint
        async with channels(another) as asked:
            with pytest.raises(NoChannelError):
                await ask(asked, 1)
