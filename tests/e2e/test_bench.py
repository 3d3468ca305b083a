"""``sparring bench``: a run that is too short to claim anything, but measures everything."""

import json
import signal
from pathlib import Path

import pytest

from .commands import BIN, START_S, Place, wait_until

pytestmark = pytest.mark.e2e

TICKS = [str(BIN / "sparring"), "bench", "ticks", "--json", "--windows=1", "--seconds=0.3", "--body=64"]


def test_ticks_are_answered_rightly_over_every_transport(place: Place) -> None:
    ended = place.run(*TICKS, "--connections=2", timeout_s=2 * START_S)
    assert ended.returncode == 0, ended.stderr
    (line,) = ended.stdout.splitlines()
    result = json.loads(line)
    assert (result["bench"], result["errors"], result["windows"]) == ("ticks", 0, 1)
    assert [cell["transport"] for cell in result["cells"]] == ["http", "steps", "bray", "native", "batch"]
    measured = [*result["cells"], *result["cartpole"], result["forwarded"]["direct"], result["forwarded"]["forwarded"]]
    for part in measured:
        assert part["ticks_per_s"]["median"] > 0
        assert part["cpu_us"]["median"] > 0
        assert part["p99_ms"]["median"] > 0
        assert part["errors"] == 0
        assert not part["measured"]  # One window is not enough.
    assert all(cell["ratio"] > 0 and cell["limit_errors"] == 0 for cell in result["cells"])
    assert result["forwarded"]["ratio"] > 0
    assert result["memory"]["idle_sessions"] == 10_000
    assert result["memory"]["growth_ticks"] >= 100_000


@pytest.mark.long
def test_metrics_are_measured_on_the_ticks_of_one_agent_of_three(place: Place) -> None:
    words = "bench", "metrics", "--json", "--windows=1", "--seconds=0.3"
    ended = place.run(str(BIN / "sparring"), *words, timeout_s=2 * START_S)
    assert ended.returncode == 0, ended.stderr
    ticks = json.loads(ended.stdout)["ticks"]
    assert all(0.2 < part < 0.5 for part in ticks["timed_part"].values())
    for target, timed in (("echo", "echo_timed"), ("cartpole", "policy_timed")):
        assert ticks[target]["errors"] == 0
        assert ticks[target]["shares"][timed]["throughput_share"]["median"] > 0


def test_ctrl_c_ends_a_benchmark_and_all_that_it_started(place: Place) -> None:
    command = place.start(*TICKS, "--cells", "--transport=http", "--connections=1", "--windows=1000")
    command.until("http, 1 connections")
    assert command.end(signal.SIGINT, 20) == 130, command.output
    assert "Traceback" not in command.output
    wait_until(lambda: not command.left_behind(), lambda: str(command.left_behind()), 10)


def test_without_a_compiler_nothing_is_started(place: Place) -> None:
    ended = place.run(*TICKS, CXX="no-such-compiler")
    assert ended.returncode == 1
    assert "there is no no-such-compiler" in ended.stderr
    assert not (Path(place.folder) / "sparring" / "bench" / "ticks").exists()


@pytest.mark.long
def test_a_buffer_brings_rows_from_a_push_to_a_training_step(place: Place) -> None:
    ended = place.run(str(BIN / "sparring"), "bench", "buffer", "--json", "--windows=1", "--seconds=1", timeout_s=230)
    assert ended.returncode == 0, ended.stderr
    (line,) = ended.stdout.splitlines()
    result = json.loads(line)
    assert [part["rows"] for part in result["rows"]] == ["cartpole", "atari"]
    assert all(part["rows_per_s"]["median"] > 0 and part["ratio"] > 0 for part in result["rows"])
    assert result["lag"]["age_ms"]["median"] > 0
    assert result["push"]["cpu_us_per_row"]["median"] > 0
    assert result["prioritized"]["ms"]["median"] > 0
    assert not any(part["measured"] for part in (*result["rows"], result["lag"], result["push"]))
