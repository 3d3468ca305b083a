"""The commands of docs/operations.md that need no cluster do what the page shows."""

import re
from pathlib import Path

import pytest
import yaml

from app.cli import main
from app.config.applications import config_of
from tests.backup.project import project
from tests.docs.readme import shows

TEXT = (Path(__file__).parents[2] / "docs" / "operations.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"<!-- test: (\w+) -->\n```bash\n(.*?)\n```\n\n```text\n(.*?)```", re.DOTALL)


def test_a_backup_is_written_and_restored_elsewhere_as_the_page_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SPARRING_HOME", str(tmp_path / "home"))
    project(tmp_path / "home", "cartpole")
    found = {how: (command, output) for how, command, output in BLOCK.findall(TEXT)}
    assert set(found) == {"backup", "restore"}
    for command, output in found.values():
        *variables, _, name, path = command.removesuffix(" --project cartpole").split(" ")
        if variables:
            monkeypatch.setenv("SPARRING_HOME", str(tmp_path / "elsewhere"))
        words = [name, path] + (["--project", "cartpole"] if "--project" in command else [])
        with pytest.raises(SystemExit) as ended:
            main(words)
        assert ended.value.code == 0
        assert shows(capsys.readouterr().out, output)
    assert (tmp_path / "elsewhere" / "cartpole" / "first" / "league").is_dir()


def test_the_serve_config_of_the_page_names_a_config() -> None:
    (block,) = [block for block in re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL) if "revision" in block]
    (application,) = yaml.safe_load(block)["applications"]
    assert application["args"]["revision"] == "2026-12-01"
    assert config_of(application["args"]).run.trial == "rl"


def test_the_token_is_named_where_commands_need_it() -> None:
    releases = (Path(__file__).parents[2] / "docs" / "releases.md").read_text(encoding="utf-8")
    assert "RAY_AUTH_MODE=token" in TEXT
    assert "RAY_AUTH_MODE=token" in releases.partition("## By hand")[2]
