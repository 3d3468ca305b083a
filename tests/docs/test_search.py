"""docs/search.md: its config is a search, its objective trains, its commands are understood."""

import json
import re
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
import typer

from app.config.load import load
from app.config.search import Asha, HyperBand, Median, Pbt
from app.plugins import load_plugin
from train.search.commands import search
from train.search.plan import plan

from .blocks import blocks
from .reader import reader_of_a_copy

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "search.md").read_text(encoding="utf-8")


class Trial:
    """A trial that goes on from what it last reported."""

    name, updates, report_every_updates = "trial_000", 10, 5

    def __init__(self, folder: Path) -> None:
        self.reports: list[tuple[int, float]] = []
        self._folder = folder

    def restored(self) -> Path | None:
        return self._folder if self.reports else None

    def report(self, updates: int, metrics: Mapping[str, float], save: Callable[[Path], None]) -> None:
        self.reports.append((updates, metrics["score"]))
        save(self._folder)


def test_the_shown_config_is_a_search(tmp_path: Path) -> None:
    (shown,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    path = tmp_path / "search.yaml"
    path.write_text(shown.replace("[rl.yaml]", f"[{ROOT / 'configs' / 'rl.yaml'}]"))
    assert plan(path, []).search.combinations == 2


def test_the_shown_objective_reports_saves_and_goes_on(tmp_path: Path) -> None:
    (shown,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, object] = {}
    exec(shown, names)  # noqa: S102  # The page's own code.
    trial, config = Trial(tmp_path), load(ROOT / "configs" / "rl.yaml")
    names["objective"](config, trial)  # type: ignore[operator]
    trial.updates = 15
    names["objective"](config, trial)  # type: ignore[operator]
    assert [updates for updates, _ in trial.reports] == [5, 10, 15]


def test_every_objective_and_scheduler_of_the_page_is_there() -> None:
    for path in re.findall(r"`(train\.search\.\w+:\w+)`", PAGE):
        assert callable(load_plugin(path))
    kinds = set(re.findall(r"^\| `(\w+)` \|", PAGE.partition("| Scheduler |")[2].partition("\n\n")[0], re.MULTILINE))
    assert kinds == {scheduler.model_fields["kind"].default for scheduler in (Asha, HyperBand, Median, Pbt)}


def test_its_commands_are_understood() -> None:
    cli = typer.Typer()
    cli.command()(search)
    command = typer.main.get_command(cli)
    lines = [line for line in PAGE.splitlines() if line.startswith("sparring search")]
    assert len(lines) == 2
    for line in lines:
        assert command.make_context("search", shlex.split(line)[2:]).params["config"].name == "search.yaml"


@pytest.mark.e2e
@pytest.mark.long
@pytest.mark.timeout(3600)
def test_the_commands_of_the_page_find_a_config_that_can_be_launched() -> None:
    searching, launching = (block for block in blocks("sh") if block.page == "docs/search.md")
    with reader_of_a_copy("search-", timeout_s=1500) as reader:
        for line in searching.text.splitlines():
            found = json.loads(reader.terminal.run(line).splitlines()[-1])
            assert found["finished"] + found["stopped_early"] == found["trials"], found
        (shown,) = re.findall(r"~/(\S+)/\d+-\d+/best.yaml", launching.text)
        best = Path(found["best_config"])
        assert best.parent.parent == reader.folder / "home" / shown
        launched = re.sub(r"~/\S+/best.yaml", str(best), launching.text)
        assert json.loads(reader.terminal.run(launched).splitlines()[-1])["solved"] is True
