"""What ``bench metrics`` measures and says."""

import gc
import json

from train.bench.metrics import MetricsPlan, metrics, scrape_s
from train.launch.stopping import Stopper


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
