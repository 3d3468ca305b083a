import json
from pathlib import Path

import pytest

from app.capacity.measured import LearnerRate, Measured
from app.capacity.reading import measured_of, read_measured
from app.errors import PlanError
from tests.capacity import figures


def test_what_the_benchmarks_print_is_read(tmp_path: Path) -> None:
    found = read_measured([figures.written(tmp_path)])
    assert found.machine == "8 cores"
    assert [(c.connections, c.body_bytes, c.cpu_us) for c in found.cells_of("http")] == [
        (1, 64, 70), (32, 64, 50), (1, 4096, 110), (32, 4096, 90),
    ]  # fmt: skip
    assert [c.cpu_us for c in found.cartpole_of("http")] == [100, 90]
    assert (found.forwarded_us, found.session_kib) == (pytest.approx(30), 8)
    assert found.decision("mlp").alone_us == 64
    assert found.remote_model().per_s == 50_000
    assert found.learner("ddp", 1.0) == LearnerRate("ddp", 2, 160_000)
    small, large = found.row_cases()
    assert (small.rows_per_s, small.cpu_us, large.cpu_us) == (400_000, 5, 60)
    assert (small.row_bytes, large.row_bytes) == (pytest.approx(64), pytest.approx(28_000))
    assert [(one.size_mb, one.whole_ms) for one in found.publish_times()] == [(1, 20), (100, 120)]
    assert not found.unsteady


def test_a_later_line_replaces_what_it_measured_anew() -> None:
    assert measured_of([figures.learner(1.0), figures.learner(8.0)]).learner_mb == 8


def test_figures_with_a_large_spread_are_named() -> None:
    unsteady = figures.inference()
    unsteady["local_mlp"]["cpu_us"]["measured"] = False
    unsteady["local_mlp"]["ratio"] = {"median": 1.0, "measured": False}
    assert measured_of([unsteady, unsteady]).unsteady == ("inference.local_mlp.cpu_us",)


def test_machines_are_not_mixed() -> None:
    with pytest.raises(PlanError, match=r"machines with 2 cores and 8 cores"):
        measured_of([figures.learner(), figures.publish() | {"machine": "2 cores"}])


@pytest.mark.parametrize("text", ["no json", "[1]", json.dumps({"machine": "8 cores"})])
def test_another_line_is_refused_with_its_place(text: str, tmp_path: Path) -> None:
    path = tmp_path / "measured.jsonl"
    path.write_text(f"{json.dumps(figures.publish())}\n\n{text}\n")
    with pytest.raises(PlanError, match=r"measured.jsonl:3: got .*, allowed is a line that sparring bench"):
        read_measured([path])


def test_a_line_without_what_its_benchmark_prints_is_refused() -> None:
    with pytest.raises(PlanError, match=r"lacks what it should hold: KeyError\('cpu_us'\)"):
        measured_of([{"bench": "inference", "local_mlp": {}}])


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=r"nothing.jsonl: cannot be read"):
        read_measured([tmp_path / "nothing.jsonl"])


@pytest.mark.parametrize(
    ("ask", "command"),
    [
        (lambda m: m.cells_of("native"), "ticks --cells --transport native --connections 1 --connections 32"),
        (lambda m: m.cartpole_of("http"), "ticks --cartpole"),
        (lambda m: m.decision("cnn"), "inference --local"),
        (Measured.remote_model, "inference --remote"),
        (lambda m: m.learner("fsdp", 4.0), "learner --strategy fsdp --size-mb 4"),
        (Measured.pushed, "buffer --push"),
        (Measured.row_cases, "buffer --rows"),
        (Measured.publish_times, "publish --no-ticks"),
        (Measured.session_memory_kib, "ticks --memory"),
    ],
)
def test_a_missing_figure_names_its_command(ask, command: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(PlanError, match=f"sparring bench {command} .*--json"):
        ask(Measured())


def test_a_learner_that_was_measured_with_other_weights_does_not_count() -> None:
    found = measured_of([figures.learner(1.0)])
    assert found.learner("ddp", 2.0).workers == 2
    with pytest.raises(PlanError, match=r"with weights of 16 MiB \(was measured with 1 MiB\).*--size-mb 16"):
        found.learner("ddp", 16.0)
