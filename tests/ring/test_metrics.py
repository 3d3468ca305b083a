"""What is measured in replicas, model, buffer and learner is asked for by label, at one place."""

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from app.errors import NotFoundError, ServiceNotFoundError
from deployments.operate.metric_commands import metrics
from tests.metrics.test_prometheus import Samples, parsed

from .service import Cluster, Service, playing, wait_until
from .training import training, updates

pytestmark = pytest.mark.ray
OBSERVER = "{factory: 'app.agents.metrics_agent:MetricsAgent', role: observer, kwargs: {payload: [reward]}}"


@pytest.fixture(scope="module")
def service(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service with which something was learned."""
    overrides = (f"agents.metrics={OBSERVER}", "actors.main.agents=[player,metrics]", "actors.main.replicas=2")
    with Service(cluster, "metrics", *overrides) as running:
        home = tmp_path_factory.mktemp("home")
        with training(running, home), playing(running.url):
            updates(running, lambda found: len(found) > 3, "updates")
            wait_until(lambda: value(running, "sparring_learner_busy_ratio", "last") is not None, "the learner tells")
            # It tells for the first time a second after its first rows, when four updates may have been told already.
            wait_until(lambda: value(running, "sparring_buffer_rows_sampled_total", "sum"), "the buffer tells")
        yield running


def ask(service: Service, name: str, **fields: str) -> Any:
    reply = service.http.get("/metrics/query", params={"name": name, **fields})
    return reply.json()["series"] if reply.status_code == 200 else []


def value(service: Service, name: str, reduction: str, **fields: str) -> float | None:
    series = ask(service, name, reduce=reduction, by="", **fields)
    found: float | None = series[0]["values"][reduction] if series else None
    return found


def test_every_part_of_the_ring_is_measured(service: Service) -> None:
    listed: dict[str, Any] = {}
    expected = {
        "sparring_ticks_total", "sparring_starts_total", "sparring_tick_seconds", "sparring_model_batch_seconds",
        "sparring_model_batch_rows", "sparring_games", "sparring_sessions", "sparring_weights_age_seconds",
        "sparring_episode_return", "sparring_updates_total", "sparring_learner_busy_ratio", "sparring_publish_seconds",
        "sparring_buffer_rows", "sparring_buffer_rows_inserted_total", "sparring_buffer_rows_sampled_total",
        "learner/loss_policy", "learner/entropy", "learner/kl", "learner/grad_norm", "learner/wait_s",
        "learner/lag_mean", "reward", "episode/ticks",
    }  # fmt: skip

    def all_told() -> bool:
        listed.update({one["name"]: one for one in service.http.get("/metrics/names").json()["metrics"]})
        return expected <= set(listed)

    with suppress(AssertionError):  # The next one names what is missing.
        wait_until(all_told, "each process has told what it measures")
    assert expected <= set(listed), f"missing are {expected - set(listed)} of {sorted(listed)}"
    assert listed["sparring_tick_seconds"]["labels"] == ["actor", "model", "part"]


def test_reports_of_two_replicas_are_one_series_that_adds_up(service: Service) -> None:
    wait_until(lambda: value(service, "sparring_ticks_total", "sum"), "ticks are told")
    wait_until(
        lambda: (
            value(service, "sparring_tick_seconds", "count", **{"label.part": "agent"})
            == value(service, "sparring_ticks_total", "sum")
        ),
        "each tick is timed",
    )
    parts = {
        one["labels"]["part"]: one["values"]
        for one in ask(service, "sparring_tick_seconds", by="part", reduce="p99,max")
    }
    assert 0 < parts["model"]["p99"] <= parts["model"]["max"]
    assert parts["agent"]["max"] >= parts["model"]["max"] > 0 <= parts["queue"]["max"]
    totals = service.trial.metrics.totals()
    assert value(service, "sparring_episode_return", "count") == totals["episodes_train"]


def test_prometheus_reads_histograms_and_the_trial_at_one_node(service: Service) -> None:
    found = wait_until(lambda: _with_the_trial(service), "the metric store tells of the trial in time")
    assert found is not None
    buckets = found["sparring_tick_seconds_bucket"]
    whole = sum(
        number for labels, number in buckets.items() if ("le", "+Inf") in labels and ("part", "agent") in labels
    )
    assert whole == sum(n for labels, n in found["sparring_tick_seconds_count"].items() if ("part", "agent") in labels)
    assert {dict(labels)["name"] for labels in found["sparring_learner"]} >= {"kl", "entropy"}
    assert sum(found["sparring_buffer_rows_inserted_total"].values()) > 0


def _with_the_trial(service: Service) -> Samples | None:
    """Returns what Prometheus reads; None where the trial's part is missing, as where its store has not answered."""
    found = parsed(service.http.get("/metrics").content)
    return found if {"sparring_learner", "sparring_tick_seconds_bucket"} <= found.keys() else None


def test_the_command_lists_and_asks(service: Service, capsys: pytest.CaptureFixture[str]) -> None:
    trial = service.trial.namespace.removeprefix("sparring.")
    metrics(trial=trial)
    assert "sparring_tick_seconds" in capsys.readouterr().out
    metrics("reward", trial=trial, label=["actor=main"], reduce="mean,p50", json_=True)
    (series,) = json.loads(capsys.readouterr().out)["series"]
    assert 0.5 < series["values"]["mean"] < series["values"]["p50"] == 1.0, "only the first reward of a game is 0"
    with pytest.raises(NotFoundError, match="metric 'nothing' has no series; known are "):
        metrics("nothing", trial=trial)
    with pytest.raises(ServiceNotFoundError, match=r"no.such runs on this cluster; running are: .*metrics"):
        metrics(trial="no.such")
