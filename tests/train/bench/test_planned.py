"""The planner reads what the benchmarks print."""

import pytest

from app.capacity.reading import measured_of
from train.bench.buffer_cases import ATARI, CARTPOLE

from . import planned_lines


def test_the_planner_finds_all_its_figures_in_what_the_benchmarks_tell() -> None:
    found = measured_of(planned_lines.lines())
    assert [(c.transport, c.connections, c.body_bytes, c.cpu_us) for c in found.cells] == [
        ("http", 1, 64, 70), ("http", 32, 64, 50), ("http", 1, 4096, 110), ("http", 32, 4096, 90),
    ]  # fmt: skip
    assert [c.cpu_us for c in found.cartpole_of("http")] == [100, 90]
    assert (found.forwarded_us, found.session_kib) == (pytest.approx(30), 8)
    assert found.remote_model().caller_us == 15
    assert found.learner("ddp", 1.0).samples_per_s == 160_000
    assert [row.row_bytes for row in found.row_cases()] == pytest.approx(
        [CARTPOLE.row_bytes, ATARI.row_bytes], rel=0.01
    )
    assert found.pushed() == 2
    assert [(one.size_mb, one.whole_ms) for one in found.publish_times()] == [(1, 20), (100, 120)]
    assert not found.unsteady
