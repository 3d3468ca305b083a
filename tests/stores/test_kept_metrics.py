"""What a metric store has added up, after its process."""

import math
from pathlib import Path

import pytest

from app.stores.kept_metrics import KEPT, MetricsFile
from app.stores.metrics import MetricStore
from app.stores.metrics_values import Episode, Update
from app.types import Purpose


async def test_a_store_goes_on_from_the_totals_of_the_one_before(tmp_path: Path) -> None:
    first, file = MetricStore(), MetricsFile(tmp_path / "trial" / "totals.json")
    await first.report([Episode(Purpose.TRAIN, 12.0, 12, "player")], {"ticks_train": 12})
    await first.update(Update(3, 5.0, {"loss": 0.5, "kl": math.nan}, "main"))
    await first.fail("run", "no room")
    file.save(first.totals_to_keep())
    again = MetricStore()
    again.take_up(file.load())
    await again.report([Episode(Purpose.TRAIN, 14.0, 14, "player")], {"ticks_train": 14})
    assert await again.totals() == {"episodes_train": 2, "ticks_train": 26}
    assert await again.returns(Purpose.TRAIN) == [12.0, 14.0]
    (update,) = await again.updates_after(2, "main")
    assert (update.number, update.time_s, update.metrics["loss"]) == (3, 5.0, 0.5)
    assert math.isnan(update.metrics["kl"])
    assert await again.failure("run") == "no room"


async def test_what_is_written_is_bounded(tmp_path: Path) -> None:
    store = MetricStore()
    await store.report([Episode(Purpose.PLAY, float(n), 1) for n in range(KEPT + 5)], {})
    kept = store.totals_to_keep()
    assert len(kept.episodes) == KEPT
    assert kept.episodes[-1].returned == KEPT + 4
    assert kept.counts["episodes_play"] == KEPT + 5


@pytest.mark.parametrize("content", ['{"schema_version": 1', '{"schema_version": 99}', "{}", "[]"])
def test_a_file_that_is_damaged_or_of_another_version_is_told_and_stops_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, content: str
) -> None:
    path = tmp_path / "totals.json"
    assert MetricsFile(path).load() is None
    assert not caplog.text
    path.write_text(content)
    assert MetricsFile(path).load() is None
    assert "totals.json is not read" in caplog.text
