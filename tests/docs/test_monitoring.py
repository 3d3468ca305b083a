"""docs/monitoring.md names what there is: alerts, files, config and commands."""

import re
from pathlib import Path

import pytest
import yaml

from app.config.load import load
from tests.dashboards.boards import FOLDER, rules

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "monitoring.md").read_text()


def test_each_alert_has_a_line_that_says_what_to_do() -> None:
    assert set(re.findall(r"`(Sparring\w+)`", TEXT)) == {rule["alert"] for rule in rules()}


def test_each_file_of_the_dashboards_is_named() -> None:
    named = re.findall(r"^\| `([\w./]+)` \|", TEXT, re.MULTILINE)
    files = [name for name in named if "/" in name or name.endswith(".yml")]
    assert all((FOLDER / name).exists() for name in files)
    boards = {f"grafana/{path.name}" for path in (FOLDER / "grafana").glob("*.json")}
    assert boards <= set(files)


@pytest.mark.parametrize("block", re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL))
def test_each_config_is_one(block: str, tmp_path: Path) -> None:
    section = yaml.safe_load(block)
    whole = {"extends": [str(ROOT / "configs" / "rl.yaml")], **section}
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(whole))
    shown = load(tmp_path / "config.yaml").model_dump(mode="json")
    for name, values in section.items():
        found = shown[name]["charts"] if "charts" in values else shown[name]
        for key, value in values.get("charts", values).items():
            assert found[key] == value


def test_links_and_pictures_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)", TEXT):
        assert (ROOT / "docs" / target).exists(), target
