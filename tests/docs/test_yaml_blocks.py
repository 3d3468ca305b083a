"""Each YAML block is loaded as what it is: a part of a config, a Serve config or a file of keys."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from app.config.access import AccessConfig
from app.config.active import active
from app.config.applications import load_applications
from app.config.keys import read_keys
from app.config.load import load
from app.config.root import ExperimentConfig
from app.model_check import model_problems

from .blocks import Fenced, blocks
from .readme import ROOT

CONFIGS = ROOT / "configs"
USUAL = "rl.yaml"
BASES = {
    ("docs/multi-agent.md", "pettingzoo:"): "connect_four.yaml",
    ("docs/multi-agent.md", "alpha_zero"): "connect_four.yaml",
    ("docs/league.md", "players:"): "league.yaml",
    ("docs/recordings.md", "record:"): "record.yaml",
    ("docs/releases.md", "release:"): "deploy.yaml",
    ("docs/training.md", "source: demos"): "imitation_rl.yaml",
}
"""What a page's part completes, where that is not the usual one: page and text of the block, and the config."""
READERS_OWN = re.compile(r"\bmy_game[.:]|\breinforce:|models/pilot\.onnx")
"""Code and files that a reader has and we have not: such a config is loaded, but its models are not built."""

HINT = re.compile(r"# yaml-language-server: \$schema=(\S+)\n")


def loaded(block: Fenced) -> bool:
    """Returns whether a block is loaded here."""
    return is_here(block) and any(kind(block) for kind in (is_config, is_serve_config, is_keys, is_hint))


def is_here(block: Fenced) -> bool:
    """Returns whether a block is YAML of a page that is no tutorial: there it is a file, which its test writes."""
    return block.language == "yaml" and "tutorials" not in block.page


def is_config(block: Fenced) -> bool:
    """Returns whether a block is a part of a config, by its sections, and extends none that its page alone makes."""
    found = yaml.safe_load(block.text)
    return (
        isinstance(found, dict)
        and set(found) <= {*ExperimentConfig.model_fields, "extends", "vars"}
        and all((CONFIGS / name).exists() for name in found.get("extends", []))
    )


def is_serve_config(block: Fenced) -> bool:
    found = yaml.safe_load(block.text)
    return isinstance(found, dict) and "applications" in found


def is_keys(block: Fenced) -> bool:
    found = yaml.safe_load(block.text)
    return isinstance(found, list) and all("key" in item for item in found)


def is_hint(block: Fenced) -> bool:
    """Returns whether a block is the line that tells an editor of the schema."""
    return HINT.fullmatch(block.text) is not None


def each(kind: Any, least: int) -> Any:
    """Returns a parameter with all blocks of a kind, of which there are at least so many."""
    found = [block for block in blocks("yaml") if is_here(block) and kind(block)]
    assert len(found) >= least
    return pytest.mark.parametrize("block", found, ids=[f"{block.page}:{block.line}" for block in found])


@each(is_config, 40)
def test_a_part_of_a_config_loads_over_a_shipped_one_and_its_models_can_be_trained(
    block: Fenced, tmp_path: Path
) -> None:
    tree = yaml.safe_load(block.text)
    names = [base for (page, text), base in BASES.items() if page == block.page and text in block.text]
    (base,) = names or [USUAL]
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump(tree | {"extends": [str(CONFIGS / name) for name in tree.get("extends", [base])]}))
    config = load(path)
    if not READERS_OWN.search(block.text):
        assert model_problems(active(config)) == {}


@each(is_serve_config, 2)
def test_a_serve_config_names_applications_that_go_together(block: Fenced, tmp_path: Path) -> None:
    path = tmp_path / "serve_config.yaml"
    path.write_text(block.text, encoding="utf-8")
    found = load_applications(path)
    assert [one.name for one in found] == [one["name"] for one in yaml.safe_load(block.text)["applications"]]
    assert all(one.trial for one in found)


@each(is_keys, 2)
def test_a_file_of_keys_is_one(block: Fenced, tmp_path: Path) -> None:
    path = tmp_path / "keys.yaml"
    path.write_text(block.text, encoding="utf-8")
    path.chmod(0o600)
    found = read_keys(AccessConfig(keys_file=str(path)))
    assert [key.name for key in found] == [key["name"] for key in yaml.safe_load(block.text)]


@each(is_hint, 1)
def test_the_schema_that_an_editor_is_told_of_lies_beside_the_configs(block: Fenced) -> None:
    (name,) = HINT.findall(block.text)
    schema = json.loads((CONFIGS / name).read_text(encoding="utf-8"))
    assert set(schema["properties"]) >= set(ExperimentConfig.model_fields)


def test_every_base_is_one_of_a_block() -> None:
    for page, text in BASES:
        assert [block for block in blocks("yaml") if block.page == page and text in block.text], (page, text)
