"""What docs/sources.md shows is what there is."""

import re
from pathlib import Path
from typing import get_args

import numpy as np
import yaml

from app.config.recording import RecordConfig
from app.config.root import ExperimentConfig
from app.config.sources import Source

PAGE = (Path(__file__).parents[2] / "docs" / "sources.md").read_text(encoding="utf-8")
REST = {"run": {"project": "game", "trial": "one"}, "models": {"main": {"factory": "a:b"}}}


def blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)


def test_its_configs_are_configs() -> None:
    source, record = (yaml.safe_load(block) for block in blocks("yaml"))
    config = ExperimentConfig.model_validate(REST | source)
    assert config.trainers["main"].inputs[0].source == "demos"
    RecordConfig.model_validate(record["agents"]["player"]["record"])


def test_all_kinds_and_all_keys_of_a_recording_are_told() -> None:
    union, *_ = get_args(Source)
    kinds = {member.model_fields["kind"].default for member in get_args(union)}
    assert kinds == set(re.findall(r"^\| `(\w+)` \| .* \| (?:a file|an iterable) \|$", PAGE, re.MULTILINE))
    told = set(re.findall(r"`(\w+)`", PAGE.split("## Record games")[1].split("It works")[0]))
    assert RecordConfig.model_fields.keys() <= told


def test_its_preprocessing_keeps_the_rows() -> None:
    names: dict[str, object] = {}
    exec(blocks("python")[1], names)  # noqa: S102  # Our own page.
    halved = names["halved"]
    assert callable(halved)
    made = halved({"observation": np.full((3, 6), 255, np.uint8), "action": np.zeros(3)})
    assert made["observation"].tolist() == [[1.0] * 4] * 3
    assert len(made["action"]) == 3
