"""docs/multi-agent.md: the config that searches loads, its model can be trained, its agent can be made."""

import re
from pathlib import Path

import yaml

from app.agents.search_agent import SearchAgent
from app.config.load import load
from app.model_check import model_problems, trained_spec
from app.plugins import load_plugin

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "multi-agent.md").read_text(encoding="utf-8")


def test_the_config_that_searches_completes_that_of_connect_four(tmp_path: Path) -> None:
    (shown,) = re.findall(r"```yaml\n(.*?)```", PAGE.partition("## Search\n")[2].partition("\n## ")[0], re.DOTALL)
    path = tmp_path / "search.yaml"
    base = str(ROOT / "configs" / "connect_four.yaml")
    path.write_text(yaml.safe_dump({"extends": [base], **yaml.safe_load(shown)}), encoding="utf-8")
    config = load(path)
    assert config.trainers["main"].inputs[0].algorithm.kind == "alpha_zero"
    assert model_problems(config) == {}
    assert trained_spec(config, "main").policy_target
    player = config.agents["player"]
    assert load_plugin(player.factory) is SearchAgent
    assert config.actors["main"].unroll_ticks >= 21  # Half of the moves of the longest game.
