"""What docs/sources.md shows is what there is, and its commands do what it says."""

import json
import re
from collections.abc import Iterator
from typing import Any, get_args

import numpy as np
import pytest
import yaml

from app.config.load import load
from app.config.root import ExperimentConfig
from app.config.sources import Source

from . import readme
from .mediocre import reader_of_a_mediocre_project
from .readme import ROOT, Terminal, change, replaced, shows

PAGE = (ROOT / "docs" / "sources.md").read_text(encoding="utf-8")
REST = {"run": {"project": "game", "trial": "one"}, "models": {"main": {"factory": "a:b"}}}


def blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)


def test_its_configs_are_configs() -> None:
    (source,) = (yaml.safe_load(block) for block in blocks("yaml"))
    config = ExperimentConfig.model_validate(REST | source)
    assert config.trainers["main"].inputs[0].source == "demos"


def test_all_kinds_are_told() -> None:
    union, *_ = get_args(Source)
    kinds = {member.model_fields["kind"].default for member in get_args(union)}
    assert kinds == set(re.findall(r"^\| `(\w+)` \| .* \| (?:a file|an iterable) \|$", PAGE, re.MULTILINE))


def test_its_preprocessing_keeps_the_rows() -> None:
    names: dict[str, object] = {}
    exec(blocks("python")[1], names)  # noqa: S102  # Our own page.
    halved = names["halved"]
    assert callable(halved)
    made = halved({"observation": np.full((3, 6), 255, np.uint8), "action": np.zeros(3)})
    assert made["observation"].tolist() == [[1.0] * 4] * 3
    assert len(made["action"]) == 3


def test_its_changes_of_the_shipped_configs_are_allowed() -> None:
    changes = re.findall(r"`--set (\S+?)`", PAGE)
    assert len(changes) == 2
    for change_ in (*changes, "launch.goal.mean_return=150"):
        load(ROOT / "configs" / "imitation_rl.yaml", [change_])


@pytest.fixture
def terminal() -> Iterator[tuple[Terminal, dict[str, str]]]:
    """A reader's terminals in a copy of the project, and the ports that take the place of the page's.

    The champion of that project is mediocre, and to be as good as that is the goal of its clone.
    """
    with reader_of_a_mediocre_project("sources-") as reader:
        change(reader.configs / "record.yaml", models__main__checkpoint=str(reader.folder / "expert"))
        change(reader.configs / "imitation.yaml", launch__goal__mean_return=150, launch__deploy_config=None)
        change(reader.configs / "imitation_rl.yaml", launch__deploy_config=None)
        yield reader.terminal, reader.ports


@pytest.mark.e2e
@pytest.mark.long
def test_an_expert_is_recorded_and_imitated_and_surpassed_by_the_commands_of_the_page(
    terminal: tuple[Terminal, dict[str, str]],
) -> None:
    reader, ports = terminal
    said: list[dict[str, Any]] = []
    for block in readme.blocks(replaced(PAGE, ports)):
        if "stop-all" in block.how:
            reader.stop_all()
        commands = re.sub(r"^(sparring launch .*)$", rf"\1 --serve-port {ports['8000']}", block.commands)
        output = reader.do(readme.Block(commands, block.output, block.how))
        assert shows(output, block.output), f"{commands}\nprints\n{output}\ninstead of\n{block.output}"
        said += [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    expert, clone, better = said
    assert 100 < expert["mean_return"] < 300
    assert 150 <= clone["eval_mean"] < 350
    assert better["eval_mean"] >= 475
    assert better["policy_lag_max"] is not None
