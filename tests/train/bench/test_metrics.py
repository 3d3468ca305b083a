"""What ``bench metrics`` measures and says."""

import gc
import json
from dataclasses import replace

from train.bench.measured_ticks import config_of, told_pair
from train.bench.metrics import MetricsPlan, metrics, scrape_s
from train.launch.stopping import Stopper

from .test_cells import GOOD


def test_calls_merge_and_scrape_are_measured() -> None:
    said: list[str] = []
    plan = MetricsPlan(windows=1, ticks=False, series=100)
    told = json.loads(json.dumps(metrics(plan, Stopper(), said.append)))
    assert told["bench"] == "metrics"
    assert told["call"]["bound_ns"]["median"] > 0
    assert told["merge_us_per_series"]["median"] > 0
    assert not told["call"]["within"], "one window is too few"
    assert said == ["calls", "merge and scrape of 100 series"]


def test_ten_thousand_series_are_scraped_within_a_second_of_cpu_time() -> None:
    gc.collect()
    gc.freeze()  # What other tests have left behind would be looked through again and again.
    try:
        assert scrape_s(10_000) < 1.0
    finally:
        gc.unfreeze()


def test_a_service_without_latencies_is_another_trial_and_otherwise_the_same() -> None:
    on, off = config_of("on"), config_of("off")
    assert on.metrics.latencies
    assert not off.metrics.latencies
    assert on.run.trial != off.run.trial
    assert on.actors == off.actors


def test_the_share_is_that_of_windows_side_by_side() -> None:
    on = [replace(GOOD, ticks=960 * scale, watched_cpu_s=(0.01 * scale,)) for scale in (1, 2, 3, 1, 1)]
    off = [replace(GOOD, ticks=1000 * scale, watched_cpu_s=(0.0099 * scale,)) for scale in (1, 2, 3, 1, 1)]
    told = json.loads(json.dumps(told_pair(on, off)))
    assert told["throughput_share"]["median"] == 0.96
    assert told["cpu_share"]["median"] == 0.95
    assert told["within"]
    assert not told_pair([replace(GOOD, ticks=940)] * 5, [GOOD] * 5)["within"]
    assert "within" not in told_pair([replace(GOOD, ticks=0)] * 5, [GOOD] * 5)
