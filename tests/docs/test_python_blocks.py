"""Python that no page's own test runs is run here, with the objects that its page speaks of set up around it."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from app.agents.agent import AgentContext
from app.bridges.dm_env_policy import DmEnvPolicy
from app.client.sync import Client
from app.config.load import load
from app.games.cartpole.model import build
from app.metrics.registry import Registry
from app.models.export.samples import read_samples
from app.models.module import spec_of
from app.seeding import Draws
from app.sessions.blackboard import Board
from app.sessions.game import Game
from app.types import Purpose
from tests.bridges.dm_games import Catch
from tests.client.background import service_in_thread
from train.trying.sources import try_source

from .blocks import Fenced, block_of
from .readme import ROOT


def run(block: Fenced) -> bool:
    """Returns whether a block is run here."""
    return block.language == "python" and any(page == block.page and text in block.text for page, text in RUNNERS)


def plays_a_dm_env(source: str) -> None:
    with (
        service_in_thread() as service,
        Client(service.url) as client,
        DmEnvPolicy(client, env := Catch()) as policy,
    ):
        execute(source, env=env, policy=policy)
    (session,) = service.sessions.values()
    assert session.stopped


def measures_in_an_agent(source: str) -> None:
    registry = Registry()
    context = AgentContext(
        "s", Purpose.PLAY, Draws(0), None, None, lambda *_: None, Board(Game("s"), "s", 1), registry.record
    )
    execute(source, self=SimpleNamespace(context=context))
    ((labels, total),) = [(part.labels, part.summary.sum) for part in registry.whole() if part.metric.name == "damage"]
    assert (labels, total) == ((("weapon", "axe"),), 3.0)


def writes_rows_that_an_export_is_compared_on(source: str) -> None:
    execute(source)
    assert read_samples(Path("rows.npz"), spec_of(build())).rows == 1


def yields_games_that_are_a_source(source: str) -> None:
    played = """
import numpy as np


class Game:
    def __init__(self, seed):
        self.states, self.actions = np.full((5, 4), seed, np.float32), [seed % 2] * 5
        self.rewards = [1.0] * 5


def played(seed):
    return [Game(seed), Game(seed + 1)]


"""
    Path("documented_games.py").write_text(played + source, encoding="utf-8")
    config = load(
        ROOT / "configs" / "rl.yaml",
        ["sources.demos={kind: factory, factory: 'documented_games:demos', kwargs: {shards: 2}}"],
    )
    report = try_source(config, "demos", model="main", rows=16, count=1)
    assert report.problems == ()
    assert report.facts["rows"] == 16


RUNNERS: dict[tuple[str, str], Callable[[str], None]] = {
    ("docs/bridges.md", "policy.next(env.reset())"): plays_a_dm_env,
    ("docs/metrics.md", "self.context.measure"): measures_in_an_agent,
    ("docs/export.md", "rows.npz"): writes_rows_that_an_export_is_compared_on,
    ("docs/sources.md", "def demos"): yields_games_that_are_a_source,
}
"""What runs the block of a page that holds a text."""


def execute(source: str, **names: Any) -> None:
    exec(source, names)  # noqa: S102  # Our own page.


@pytest.mark.parametrize(("page", "text"), RUNNERS)
def test_a_block_does_what_its_page_says(page: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    block = block_of(page, text, "python")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    RUNNERS[page, text](block.text)
