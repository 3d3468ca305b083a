"""What docs/sources.md shows is what there is, and its commands do what it says."""

import json
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
import torch
import yaml

from app.config.load import load
from app.config.root import ExperimentConfig
from app.config.sources import Source
from app.games.cartpole.model import build
from app.models.module import hash_of, to_arrays
from app.models.saved import SavedModel, write_model
from deployments.port import free_port

from . import readme
from .readme import ROOT, Terminal, change, copy_project, reader_env, replaced, shows

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


def write_mediocre_expert(folder: Path) -> None:
    """Writes a policy that pushes against the pole's speed and looks at nothing else: about 190 ticks a game."""
    module = build()
    with torch.no_grad():
        for layer in (module.policy[0], module.policy[2], module.policy[4]):
            layer.weight.zero_()  # type: ignore[operator, union-attr]
        module.policy[0].weight[0, 3] = 1  # type: ignore[index]
        module.policy[2].weight[0, 0] = 1  # type: ignore[index]
        module.policy[4].weight[:, 0] = torch.tensor([-10.0, 10.0])  # type: ignore[index]
    folder.mkdir()
    write_model(folder, SavedModel("app.games.cartpole.model:build", {}, hash_of(module), "1.0", to_arrays(module)))


@pytest.fixture
def terminal() -> Iterator[tuple[Terminal, dict[str, str]]]:
    """A reader's terminals in a copy of the project, and the ports that take the place of the page's.

    The champion of that project is mediocre, and to be as good as that is the goal of its clone.
    """
    ports = {port: str(free_port()) for port in ("36390", "8000")}
    with tempfile.TemporaryDirectory(prefix="sources-", dir="/tmp", ignore_cleanup_errors=True) as name:
        root = Path(name)
        configs = root / "project" / "configs"
        copy_project(root / "project")
        write_mediocre_expert(root / "expert")
        for config in ("base", "imitation"):
            change(configs / f"{config}.yaml", actors__main__port=int(ports["36390"]))
        change(configs / "record.yaml", models__main__checkpoint=str(root / "expert"))
        change(configs / "imitation.yaml", launch__goal__mean_return=150, launch__deploy_config=None)
        change(configs / "imitation_rl.yaml", launch__deploy_config=None)
        change(root / "project" / "serve_config.yaml", http_options__port=int(ports["8000"]))
        (root / "logs").mkdir()
        terminal = Terminal(root / "project", root / "logs", reader_env(root / "home") | {"RAY_TMPDIR": name})
        yield terminal, ports
        terminal.stop_all()


@pytest.mark.e2e
@pytest.mark.timeout(400)
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
