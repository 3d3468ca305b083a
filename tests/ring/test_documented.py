"""An operator's commands of the pages, typed beside a running service: they answer, and print what the pages show."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
import ray

from app.cli import main
from app.metrics.registry import Registry
from app.startup import INTERRUPTED
from deployments.operate import metric_commands
from tests.docs.blocks import block_of, commands

from .service import Cluster, Service, observation, wait_until

pytestmark = pytest.mark.ray

GAME_PORT = "36390"
TYPED = {
    ("docs/checks.md", "sparring alarms"): "check reward_range: reward is 200 at tick 2 of session match-7",
    ("docs/metrics.md", "sparring metrics"): "learner/kl",
    ("docs/metrics.md", "curl"): '"weapon":"axe"',
    ("docs/monitoring.md", "sparring errors"): "session match-7",
    ("docs/operations.md", "sparring status"): "cartpole.first  mode train  application first (running, /first)",
    ("docs/operations.md", "/sessions?"): "sparring_sessions",
    ("docs/operations.md", "/weights/"): '"main"',  # The list, and beside it a file.
    ("docs/operations.md", "sparring stop"): "first",  # The last: it ends what all others ask.
}
"""Page and text of a block, and what it prints among other things."""
OVERRIDES = (
    "checks.fields.reward_range={kind: range, field: reward, min: -10, max: 10, action: drop}",
    "agents.failing={factory: 'failing_agent:FailingAgent'}",
    "actors.main.agents=[player,failing]",
)


@pytest.fixture(scope="module")
def service(cluster: Cluster) -> Iterator[Service]:
    """A service in which something was measured, found and went wrong."""
    with Service(cluster, "first", *OVERRIDES) as running:
        running.publish(seed=1)
        registry = Registry()
        registry.record("damage", 3.0, weapon="axe")
        registry.record("learner/kl", 0.01, trainer="main")
        ray.get(running.trial.metrics.measure(registry.growth()))
        failing = "match-7-agent-failing"
        running.step(failing, "start")
        assert running.step(failing, body="fail").status_code == 500
        running.step("match-7", "start")
        for reward in (0.0, 1.0, 1.0, 200.0):
            running.step("match-7", body=observation() | {"reward": reward})
        running.step("match-7", "stop", observation() | {"reward": 1.0, "terminated": True})
        wait_until(lambda: running.http.get("/alarms").json()["alarms"], "the check tells what it has found")
        wait_until(lambda: running.http.get("/errors").json()["errors"], "an error is told")
        wait_until(lambda: "sparring_tick_seconds" in running.http.get("/metrics/names").text, "ticks are timed")
        yield running


def sparring(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs a command in this process; one that watches gets a Ctrl-C while it waits for its second look."""
    with monkeypatch.context() as patch:
        patch.setattr(metric_commands, "time", SimpleNamespace(sleep=ctrl_c))
        with pytest.raises(SystemExit) as ended:
            main(words)
    assert ended.value.code == (INTERRUPTED if "--watch" in words else 0)


def ctrl_c(_seconds: float) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(("page", "text"), TYPED)
def test_a_block_answers_with_what_there_is(
    page: str,
    text: str,
    service: Service,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv("COLUMNS", "250")
    for program, *words in commands(block_of(page, text)):
        if program == "sparring":
            sparring(words, monkeypatch)
        else:
            here = [word.replace(f":{GAME_PORT}", f":{service.port}") for word in words]
            subprocess.run([program, "-sSf", *here], check=True, timeout=30)
    sys.stdout.flush()
    assert TYPED[page, text] in capfd.readouterr().out
