import asyncio
import random
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from app.deadline import StepTime
from app.errors import AgentError, DeadlineExceededError, OverloadedError
from app.models.batching import BatchLimits
from app.models.engine import Answer
from app.models.question import GREEDY, Decision, Leaves, Prepared, Question, prepare
from app.models.queue import LocalQueue, RemoteQueue
from app.models.waiting import Batch, Within
from app.types import Version
from tests.small_policy import discrete

SPEC = discrete((1,), 2)
CALLS = 2_000
CANCELLED = 0.3


def answer_to(observations: NDArray[np.generic], version: Version | None) -> Answer:
    """Prefers action 1 and values each observation by itself."""
    rows = np.asarray(observations, np.float32)
    logits = np.tile(np.array([0, 1], np.float32), (len(rows), 1))
    return Answer([logits, rows[:, 0]], [], version or Version(1, 1))


class Network:
    """Answers, and remembers what it was asked; refuses what holds -1."""

    def __init__(self) -> None:
        self.asked: list[tuple[list[float], Version | None]] = []

    def forward(self, inputs: Leaves, states: Leaves, version: Version | None) -> Answer:
        values = [float(x) for x in np.asarray(inputs[0], np.float32)[:, 0]]
        self.asked.append((values, version))
        if -1.0 in values:
            raise RuntimeError("the network chokes")
        return answer_to(inputs[0], version)


class Remote(Network):
    """The same behind a door that the test opens for each call."""

    def __init__(self) -> None:
        super().__init__()
        self.called: asyncio.Queue[asyncio.Future[None]] = asyncio.Queue()
        self.under_way = self.most_under_way = 0
        self.within: list[Within] = []

    async def call(self, inputs: Leaves, states: Leaves, version: Version | None, within: Within) -> Answer:
        self.within.append(within)
        door: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.called.put_nowait(door)
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            await door
        finally:
            self.under_way -= 1
        return self.forward(inputs, states, version)


def question(value: float, *, version: Version | None = None, mask: Sequence[int] | None = None) -> Prepared:
    flags = None if mask is None else np.array(mask, bool)
    return prepare(Question(np.array([value], np.float32), GREEDY, flags, version), SPEC)


def bounded(max_waiting_rows: int, max_rows: int = 1024) -> BatchLimits:
    return BatchLimits(max_rows, max_waiting_rows)


def local(network: Network, max_waiting: int = 100) -> LocalQueue:
    return LocalQueue(SPEC, network.forward, bounded(max_waiting))


async def test_all_questions_of_one_turn_are_one_batch_in_their_order() -> None:
    network = Network()
    queue = local(network)

    async def ask(value: float) -> Decision:
        return await queue.decide(question(value))

    decisions = await asyncio.gather(*(ask(value) for value in (3, 1, 2)))
    assert [decision.value for decision in decisions] == [3, 1, 2]
    assert network.asked == [([3.0, 1.0, 2.0], None)]
    assert queue.batches == 1


async def test_a_decision_says_what_was_chosen_how_probable_it_was_and_who_said_so() -> None:
    decision = await local(Network()).decide(question(5))
    assert decision == Decision(1, pytest.approx(1 - np.log(1 + np.e)), 5.0, Version(1, 1))


async def test_questions_of_the_next_turn_are_the_next_batch() -> None:
    network = Network()
    queue = local(network)
    assert [(await queue.decide(question(value))).value for value in (1, 2)] == [1, 2]
    assert [values for values, _ in network.asked] == [[1.0], [2.0]]


async def test_each_version_answers_its_own_questions() -> None:
    network, old = Network(), Version(1, 3)
    queue = local(network)
    waiting = [queue.decide(question(v, version=old if v % 2 else None)) for v in range(4)]
    decisions = await asyncio.gather(*waiting)
    assert [d.version for d in decisions] == [Version(1, 1), old, Version(1, 1), old]
    assert [d.value for d in decisions] == [0, 1, 2, 3]
    assert network.asked == [([0.0, 2.0], None), ([1.0, 3.0], old)]


async def test_a_mask_binds_its_own_question_alone() -> None:
    queue = local(Network())
    masked, free = await asyncio.gather(queue.decide(question(1, mask=[1, 0])), queue.decide(question(2)))
    assert (masked.action, masked.log_prob) == (0, 0.0)
    assert free.action == 1


async def test_a_question_that_makes_the_network_fail_hurts_no_neighbour() -> None:
    network = Network()
    queue = local(network)
    outcomes = await asyncio.gather(*(queue.decide(question(v)) for v in (1, -1, 2)), return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [Decision, AgentError, Decision]
    assert str(outcomes[1]) == "the model did not answer: RuntimeError: the network chokes"
    assert [values for values, _ in network.asked] == [[1, -1, 2], [1], [-1, 2], [-1], [2]]
    assert (await queue.decide(question(4))).value == 4


async def test_a_failed_version_does_not_fail_the_others() -> None:
    queue = local(Network())
    bad, good = await asyncio.gather(
        queue.decide(question(-1, version=Version(1, 3))), queue.decide(question(2)), return_exceptions=True
    )
    assert isinstance(bad, AgentError)
    assert isinstance(good, Decision)


async def test_a_row_that_is_not_a_number_fails_its_own_waiter_alone() -> None:
    def forward(inputs: Leaves, states: Leaves, version: Version | None) -> Answer:
        answer = answer_to(inputs[0], version)
        answer.outputs[0][1] = np.nan
        answer.outputs[1][2] = np.inf
        return answer

    queue = LocalQueue(SPEC, forward, bounded(100))
    outcomes = await asyncio.gather(*(queue.decide(question(v)) for v in range(4)), return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [Decision, AgentError, AgentError, Decision]
    assert "log-probability is nan" in str(outcomes[1])
    assert "its value inf" in str(outcomes[2])


@pytest.mark.parametrize(("rows", "value_shape"), [(2, (2,)), (3, (3, 1)), (3, ()), (1, (3,))])
async def test_an_answer_of_another_shape_is_told_to_each_waiter(rows: int, value_shape: tuple[int, ...]) -> None:
    answer = Answer([np.zeros((rows, 2), np.float32), np.zeros(value_shape, np.float32)], [], Version(1, 1))
    queue = LocalQueue(SPEC, lambda _inputs, _states, _version: answer, bounded(100))
    outcomes = await asyncio.gather(*(queue.decide(question(v)) for v in range(3)), return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [AgentError] * 3
    assert "answer to 3 observations has the shapes" in str(outcomes[0])


async def test_one_question_too_many_is_refused_at_once() -> None:
    queue = local(Network(), max_waiting=2)
    waiting = [queue.decide(question(v)) for v in (1, 2)]
    with pytest.raises(OverloadedError, match="2 observations already wait"):
        queue.decide(question(3))
    assert [d.value for d in await asyncio.gather(*waiting)] == [1, 2]
    assert (await queue.decide(question(4))).value == 4


async def test_a_cancelled_question_is_not_asked() -> None:
    network = Network()
    queue = local(network)
    cancelled, kept = queue.decide(question(-1)), queue.decide(question(2))
    cancelled.cancel()
    assert (await kept).value == 2
    assert network.asked == [([2.0], None)]


async def test_many_cancelled_callers_hurt_no_neighbour_of_a_local_model() -> None:
    network = Network()
    await many_calls_with_some_cancelled(local(network, CALLS))
    assert len(network.asked) < CALLS / 2


async def test_many_cancelled_callers_hurt_no_neighbour_of_a_remote_model() -> None:
    async def forward(inputs: Leaves, states: Leaves, version: Version | None, within: Within) -> Answer:
        await asyncio.sleep(0)
        return answer_to(inputs[0], version)

    await many_calls_with_some_cancelled(RemoteQueue(SPEC, forward, bounded(CALLS), timeout_s=20))


async def many_calls_with_some_cancelled(queue: LocalQueue | RemoteQueue) -> None:
    source = random.Random(0)  # noqa: S311  # A test, not a secret.

    async def call(value: int) -> float:
        for _ in range(source.randrange(8)):
            await asyncio.sleep(0)  # Other calls' turns: some join this batch, some the next.
        return (await queue.decide(question(value))).value

    async def give_up(task: asyncio.Task[float]) -> None:
        for _ in range(source.randrange(12)):
            await asyncio.sleep(0)
        task.cancel()

    calls = [asyncio.create_task(call(value)) for value in range(CALLS)]
    chosen = source.sample(range(CALLS), int(CANCELLED * CALLS))
    outcomes = (await asyncio.gather(*calls, *(give_up(calls[at]) for at in chosen), return_exceptions=True))[:CALLS]
    for value, outcome in enumerate(outcomes):
        if value not in chosen:
            assert outcome == value
    assert sum(isinstance(outcome, asyncio.CancelledError) for outcome in outcomes) > CALLS / 10
    assert (await queue.decide(question(7))).value == 7
    assert queue.waiting_rows == 0


async def test_a_remote_model_has_one_call_under_way_that_carries_all_that_wait() -> None:
    remote = Remote()
    queue = RemoteQueue(SPEC, remote.call, bounded(100), timeout_s=20)
    first = [queue.decide(question(v)) for v in (1, 2)]
    door = await remote.called.get()
    second = [queue.decide(question(v)) for v in (3, 4, 5)]
    for _ in range(5):
        await asyncio.sleep(0)
    assert remote.called.empty()
    door.set_result(None)
    assert [d.value for d in await asyncio.gather(*first)] == [1, 2]
    (await remote.called.get()).set_result(None)
    assert [d.value for d in await asyncio.gather(*second)] == [3, 4, 5]
    assert [values for values, _ in remote.asked] == [[1, 2], [3, 4, 5]]
    assert remote.most_under_way == 1
    assert queue.batches == 2


async def test_who_waits_for_weights_that_must_be_fetched_keeps_no_other_version_waiting() -> None:
    remote = Remote()
    queue = RemoteQueue(SPEC, remote.call, bounded(100), timeout_s=20)
    cold = queue.decide(question(1, version=Version(1, 1)))
    door = await remote.called.get()
    for value in range(2, 6):
        hot = queue.decide(question(value))
        (await remote.called.get()).set_result(None)
        assert (await hot).value == value
    assert not cold.done()
    door.set_result(None)
    assert (await cold).value == 1


async def test_a_remote_call_without_an_answer_ends_in_an_error_and_the_next_one_works() -> None:
    remote = Remote()
    queue = RemoteQueue(SPEC, remote.call, bounded(100), timeout_s=0.5)
    outcomes = await asyncio.gather(*(queue.decide(question(v)) for v in (1, 2)), return_exceptions=True)
    assert [str(outcome) for outcome in outcomes] == ["the model did not answer: TimeoutError: "] * 2
    await remote.called.get()
    later = queue.decide(question(3))
    (await remote.called.get()).set_result(None)
    assert (await later).value == 3


async def test_a_remote_failure_is_told_to_each_waiter_and_the_next_call_works() -> None:
    remote = Remote()
    queue = RemoteQueue(SPEC, remote.call, bounded(100), timeout_s=20)
    waiting = [queue.decide(question(v)) for v in (1, -1)]
    (await remote.called.get()).set_result(None)
    outcomes = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [AgentError] * 2
    later = queue.decide(question(3))
    (await remote.called.get()).set_result(None)
    assert (await later).value == 3


async def test_a_remote_call_that_is_cancelled_from_outside_leaves_nobody_waiting() -> None:
    remote = Remote()
    queue = RemoteQueue(SPEC, remote.call, bounded(100), timeout_s=20)
    waiting = queue.decide(question(1))
    door = await remote.called.get()
    later = queue.decide(question(2))
    door.cancel()
    with pytest.raises(AgentError, match="CancelledError"):
        await waiting
    (await remote.called.get()).set_result(None)
    assert (await later).value == 2


async def test_a_remote_model_refuses_one_question_too_many() -> None:
    remote = Remote()
    queue = RemoteQueue(SPEC, remote.call, bounded(2), timeout_s=20)
    first = queue.decide(question(0))
    door = await remote.called.get()
    waiting = [queue.decide(question(v)) for v in (1, 2)]
    with pytest.raises(OverloadedError):
        queue.decide(question(3))
    door.set_result(None)
    (await remote.called.get()).set_result(None)
    assert [d.value for d in await asyncio.gather(first, *waiting)] == [0, 1, 2]


LIMITS = BatchLimits(max_rows=4)


def batch(*values: float) -> Batch:
    return Batch([np.array(values, np.float32)[:, None]], [], None)


def within(seconds: float) -> Within:
    return Within(seconds, seconds)


async def test_where_not_all_fit_the_nearest_deadlines_go_first() -> None:
    network = Network()
    queue = LocalQueue(SPEC, network.forward, LIMITS)
    waiting = [queue.answer(batch(seconds, seconds), within(seconds)) for seconds in (30, 10, 40, 20)]
    answers = await asyncio.gather(*waiting)
    assert [values for values, _ in network.asked] == [[10, 10, 20, 20], [30, 30, 40, 40]]
    assert [answer.outputs[1].tolist() for answer in answers] == [[30, 30], [10, 10], [40, 40], [20, 20]]


async def test_what_fits_into_one_batch_keeps_its_order() -> None:
    network = Network()
    queue = LocalQueue(SPEC, network.forward, LIMITS)
    await asyncio.gather(*(queue.answer(batch(seconds), within(seconds)) for seconds in (30, 10, 20)))
    assert [values for values, _ in network.asked] == [[30, 10, 20]]


async def test_a_batch_larger_than_allowed_is_asked_alone() -> None:
    network = Network()
    queue = LocalQueue(SPEC, network.forward, LIMITS)
    await asyncio.gather(*(queue.answer(batch(*values)) for values in ([1], [2] * 5, [3])))
    assert [values for values, _ in network.asked] == [[1], [2] * 5, [3]]


async def test_a_question_whose_time_is_up_is_not_asked_and_hurts_no_neighbour() -> None:
    network = Network()
    queue = LocalQueue(SPEC, network.forward, LIMITS)
    late, kept = queue.answer(batch(1), within(0)), queue.answer(batch(2), within(30))
    assert (await kept).outputs[1] == [2]
    with pytest.raises(DeadlineExceededError, match="before the model could be asked"):
        await late
    assert [values for values, _ in network.asked] == [[2]]
    assert queue.late == 1


async def test_a_step_that_is_late_falls_back_before_its_question_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.models.waiting.LATE_S", 100.0)  # Else both could be due in the same turn of the loop.
    queue = local(Network())
    loop = asyncio.get_running_loop()
    step_time = StepTime(loop.time())
    decision = queue.decide(question(1))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(decision, 0.01)
    assert decision.cancelled()
    step_time.over()
    assert (await queue.decide(question(2))).value == 2


async def test_a_fuller_batch_is_waited_for_but_not_beyond_a_full_one() -> None:
    network = Network()
    queue = LocalQueue(SPEC, network.forward, BatchLimits(max_rows=2, wait_s=30))
    first = queue.answer(batch(1))
    for _ in range(5):
        await asyncio.sleep(0)
    assert not network.asked
    second = queue.answer(batch(2))
    await asyncio.wait_for(asyncio.gather(first, second), 5)
    assert [values for values, _ in network.asked] == [[1, 2]]


async def test_one_that_waits_alone_is_asked_after_the_wait() -> None:
    queue = LocalQueue(SPEC, Network().forward, BatchLimits(max_rows=2, wait_s=0.01))
    assert (await asyncio.wait_for(queue.answer(batch(1)), 5)).outputs[1] == [1]


async def test_hurrying_waits_for_no_fuller_batch() -> None:
    queue = LocalQueue(SPEC, Network().forward, BatchLimits(wait_s=30))
    answer = queue.answer(batch(1))
    queue.hurry()
    assert (await asyncio.wait_for(answer, 5)).outputs[1] == [1]


async def test_a_remote_call_says_when_the_first_and_the_last_answer_are_wanted() -> None:
    remote = Remote()
    queue = RemoteQueue(SPEC, remote.call, bounded(100), timeout_s=20)
    now_s = asyncio.get_running_loop().time()
    waiting = []
    for seconds in (7, 3, 5):
        StepTime(now_s + seconds)
        waiting.append(queue.decide(question(seconds)))
    (await remote.called.get()).set_result(None)
    await asyncio.gather(*waiting)
    (times,) = remote.within
    assert times == (pytest.approx(3, abs=1), pytest.approx(7, abs=1))


async def test_a_remote_call_carries_no_more_than_a_batch_and_the_next_the_rest() -> None:
    remote = Remote()
    queue = RemoteQueue(SPEC, remote.call, BatchLimits(max_rows=2), timeout_s=20)
    waiting = [queue.decide(question(v)) for v in range(3)]
    for _ in range(2):
        (await remote.called.get()).set_result(None)
    assert [d.value for d in await asyncio.gather(*waiting)] == [0, 1, 2]
    assert [values for values, _ in remote.asked] == [[0, 1], [2]]


@pytest.mark.parametrize("kind", [OverloadedError, DeadlineExceededError])
async def test_a_remote_model_that_is_too_busy_is_told_as_that(kind: type[Exception]) -> None:
    async def forward(inputs: Leaves, states: Leaves, version: Version | None, within: Within) -> Answer:
        raise kind("come back later")

    queue = RemoteQueue(SPEC, forward, bounded(100), timeout_s=20)
    outcomes = await asyncio.gather(*(queue.decide(question(v)) for v in range(2)), return_exceptions=True)
    assert [(type(outcome), str(outcome)) for outcome in outcomes] == [(kind, "come back later")] * 2
