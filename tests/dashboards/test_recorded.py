"""Every chart shows data of a recorded demo run, by Prometheus' own evaluation."""

from collections.abc import Iterator

import pytest

from tests.dashboards.boards import filled, panels
from tests.dashboards.prometheus import Prometheus, needs_promtool, recorded
from tests.dashboards.recording import START_S, STEP_S, end_s, open_metrics, read_recording

pytestmark = [needs_promtool, pytest.mark.slow]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    with recorded(list(open_metrics(read_recording())), tmp_path_factory.mktemp("recorded")) as found:
        yield found


def test_every_query_of_every_chart_has_data(running: Prometheus) -> None:
    until_s = end_s(read_recording())
    empty = [
        f"{name}: {panel['title']}: {target['expr']}"
        for name, panel in panels()
        for target in panel["targets"]
        if not running.range(filled(target["expr"]), START_S, until_s, STEP_S)
    ]
    assert empty == []
