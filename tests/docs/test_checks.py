"""What docs/checks.md shows is what there is."""

import re
from pathlib import Path
from typing import get_args

import yaml

from app.algorithms.ppo import PpoLoss
from app.checks.problems import check_problems
from app.config.checks import Check, CheckAction, FiniteChecks
from app.config.load import load
from app.models.module import build_module, spec_of

from .readme import ROOT

PAGE = (ROOT / "docs" / "checks.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)


def named(path: Path, block: str) -> Path:
    """Writes a config of the page where it may be loaded from, and returns the file."""
    tree = yaml.safe_load(block)
    tree["extends"] = [str(ROOT / "configs" / name) for name in tree["extends"]]
    path.write_text(yaml.safe_dump(tree))
    return path


def test_its_configs_are_configs_whose_fields_the_model_and_its_updates_have(tmp_path: Path) -> None:
    checked, slow = (load(named(tmp_path / f"{number}.yaml", block)) for number, block in enumerate(BLOCKS))
    model = checked.models["main"]
    assert check_problems(checked, {"main": spec_of(build_module(model.factory, model.kwargs, 0))}) == {}
    fields = [check.field for check in checked.checks.fields.values()]
    assert {field.removeprefix("metrics/") for field in fields if "metrics" in field} <= set(PpoLoss._fields)
    assert slow.actors["main"].slow_tick_ms == 50


def test_all_kinds_actions_and_defaults_are_told() -> None:
    kinds = {member.model_fields["kind"].default for member in get_args(get_args(Check)[0])}
    cells = set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE))
    assert kinds <= cells
    assert set(get_args(CheckAction)) <= cells
    defaults = dict(re.findall(r"^\| `(\w+)` \| .* \| `(\w+)` \|$", PAGE, re.MULTILINE))
    assert defaults == FiniteChecks().model_dump()
