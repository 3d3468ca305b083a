import math
import pickle

import pytest

from app.metrics.query import MetricQuery
from app.metrics.registry import Registry
from app.metrics.reports import ReplicaReport
from app.stores.metrics import EPISODES_KEPT, REPLICAS_KEPT_S, UPDATES_KEPT, MetricStore
from app.stores.metrics_values import Episode, Update
from app.types import Purpose


def episodes(*returns: float, purpose: Purpose = Purpose.TRAIN) -> list[Episode]:
    return [Episode(purpose, returned, 10) for returned in returns]


async def test_reports_of_many_replicas_add_up() -> None:
    store = MetricStore()
    await store.report(episodes(1, 2), {"ticks_train": 20, "starts": 2})
    await store.report(episodes(6), {"ticks_train": 5})
    progress = await store.progress(games=3)
    assert (progress.ticks, progress.episodes, progress.mean_return) == (25, 3, 3.0)


async def test_the_mean_is_over_the_newest_games_and_none_before_there_are_enough() -> None:
    store = MetricStore()
    await store.report(episodes(100, 2), {})
    assert (await store.progress(games=3)).mean_return is None
    await store.report(episodes(4, 6), {})
    assert (await store.progress(games=3)).mean_return == 4.0


async def test_evaluated_games_are_counted_apart() -> None:
    store = MetricStore()
    await store.report(episodes(500, purpose=Purpose.EVALUATE) + episodes(1), {"ticks_evaluate": 9})
    progress = await store.progress(games=1)
    assert (progress.episodes, progress.ticks, progress.mean_return) == (1, 0, 1.0)
    assert await store.returns(Purpose.EVALUATE) == [500]
    assert await store.returns(Purpose.TRAIN) == [1]
    assert await store.returns(Purpose.PLAY) == []


async def test_only_so_many_episodes_and_updates_are_kept() -> None:
    store = MetricStore()
    await store.report(episodes(*range(EPISODES_KEPT + 5)), {})
    assert (await store.returns(Purpose.TRAIN))[0] == 5
    assert (await store.progress(games=1)).episodes == EPISODES_KEPT + 5
    for number in range(UPDATES_KEPT + 5):
        await store.update(Update(number, 0.0, {}))
    assert len(await store.updates_after(-1)) == UPDATES_KEPT


async def test_updates_are_read_from_where_a_reader_was() -> None:
    store = MetricStore()
    for number in (1, 2, 3):
        await store.update(Update(number, 0.0, {"loss": number}))
    assert [update.number for update in await store.updates_after(1)] == [2, 3]
    assert await store.updates_after(3) == []


async def test_updates_of_all_trainers_add_up_where_none_is_meant() -> None:
    store = MetricStore()
    for update in (Update(7, 1.0, {}, "main"), Update(3, 2.0, {"loss": 0.5}, "other"), Update(8, 1.5, {}, "main")):
        await store.update(update)
    of_all = await store.progress(1)
    assert (of_all.updates, of_all.last) == (11, {"loss": 0.5})
    assert (await store.progress(1, "main")).updates == 8


async def test_training_is_live_from_its_first_update_until_the_next_run() -> None:
    store = MetricStore()
    assert not (await store.progress(1)).live
    await store.update(Update(7, 0.0, {"loss": 0.5}))
    progress = await store.progress(1)
    assert (progress.live, progress.updates, progress.last) == (True, 7, {"loss": 0.5})
    await store.begin("")
    progress = await store.progress(1)
    assert (progress.live, progress.updates, progress.last) == (False, 0, {})


@pytest.mark.parametrize("later", ["run 2", "run 1"])
async def test_the_first_reason_of_a_failed_run_counts(later: str) -> None:
    store = MetricStore()
    assert await store.failure("run 1") is None
    await store.fail("run 1", "NaN")
    await store.fail(later, "a consequence")
    assert await store.failure("run 1") == "NaN"


def report(name: str, sessions: int) -> ReplicaReport:
    return ReplicaReport(name, "main", "app", "h", 1, 2, healthy=True, ready=True, sessions={"play": sessions})


async def test_replicas_are_shown_as_they_last_reported_until_they_leave_or_fall_silent() -> None:
    now_s = [0.0]
    store = MetricStore(lambda: now_s[0])
    for name in ("stays", "leaves", "dies"):
        await store.hear(report(name, 1))
    now_s[0] = 10.0
    await store.hear(report("stays", 2))
    await store.forget("leaves")
    await store.forget("leaves")
    service = await store.service()
    assert [(h.report.replica, h.report.sessions, h.silent_s) for h in service.replicas] == [
        ("stays", {"play": 2}, 0.0),
        ("dies", {"play": 1}, 10.0),
    ]
    now_s[0] = REPLICAS_KEPT_S + 1
    assert [heard.report.replica for heard in (await store.service()).replicas] == ["stays"]


async def test_the_services_counters_outlive_its_replicas() -> None:
    store = MetricStore()
    await store.report([], {"starts": 2})
    await store.hear(report("gone", 1))
    await store.forget("gone")
    assert await store.service() == ({"starts": 2}, [])


async def test_measures_of_many_replicas_add_up_and_outlive_them() -> None:
    store = MetricStore()
    for values in ((1.0, 5.0), (-2.0,), (math.nan,)):
        registry = Registry()
        for value in values:
            registry.record("reward", value, map="desert")
        await store.report([], {}, pickle.loads(pickle.dumps(registry.growth())))  # noqa: S301  # As Ray does.
    wanted = ("count", "sum", "min", "max", "p50", "not_finite")
    answer = await store.query(MetricQuery("reward", {"map": "desert"}, reduce=wanted))
    assert list(answer.series[0]["values"].values()) == [3, 4.0, -2.0, 5.0, 1.0, 1]


async def test_what_replicas_and_trainers_tell_is_asked_for_by_label() -> None:
    store = MetricStore(unix_clock=lambda: 1_000.0)
    await store.report([Episode(Purpose.TRAIN, 3.0, 7, "a"), Episode(Purpose.TRAIN, 5.0, 9, "b")], {"overloaded": 2})
    await store.update(Update(12, 0.0, {"kl": 0.5}, "main"))
    await store.hear(report("one", 4))
    await store.hear(report("two", 6))

    async def value(name: str, reduction: str, **labels: str) -> float:
        answer = await store.query(MetricQuery(name, labels, by=(), reduce=(reduction,)))
        return float(answer.series[0]["values"][reduction])

    assert await value("sparring_episode_return", "mean") == 4.0
    assert await value("sparring_episode_return", "mean", agent="b") == 5.0
    assert await value("sparring_errors_total", "sum", code="overloaded") == 2
    assert await value("learner/kl", "last", trainer="main") == 0.5
    assert await value("sparring_sessions", "total") == 10
    await store.forget("one")
    assert await value("sparring_sessions", "total") == 6


async def test_a_metric_that_is_not_known_is_answered_by_those_that_are() -> None:
    store = MetricStore()
    assert (await store.query(MetricQuery("nothing"))).unknown == (
        "metric 'nothing' has no series; nothing was measured yet"
    )
    await store.report([], {"starts": 1})
    assert "known are sparring_starts_total" in str((await store.query(MetricQuery("nothing"))).unknown)


async def test_a_loss_that_is_not_finite_is_told_once_with_its_update(caplog: pytest.LogCaptureFixture) -> None:
    store = MetricStore()
    for number in (7, 8):
        await store.update(Update(number, 0.0, {"loss": math.nan}, "main"))
    assert caplog.messages == ["loss of trainer main is nan at update 7"]
    answer = await store.query(MetricQuery("learner/loss", reduce=("not_finite", "mean")))
    assert answer.series[0]["values"] == {"not_finite": 2, "mean": None}
