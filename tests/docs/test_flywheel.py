"""The chain of docs/flywheel.md turns once: recorded games become a challenger, and the challenger the champion."""

import json
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from app.config.load import load
from app.config.recording import RecordConfig
from deployments.port import free_port

from . import readme
from .readme import ROOT, Terminal, change, copy_project, reader_env, replaced, shows
from .test_sources import write_mediocre_expert

PAGE = (ROOT / "docs" / "flywheel.md").read_text(encoding="utf-8")
CONFIGS = ROOT / "configs"


def test_what_production_records_is_what_the_flywheel_learns_from() -> None:
    production, flywheel = load(CONFIGS / "production.yaml"), load(CONFIGS / "flywheel.yaml")
    record, release = production.agents["player"].record, production.models["main"].release
    assert isinstance(record, RecordConfig)
    assert release is not None
    path = yaml.safe_load((CONFIGS / "flywheel.yaml").read_text())["sources"]["demos"]["path"]
    assert path == f"~/.sparring/{production.run.project}/{production.run.trial}/{record.folder}"
    assert flywheel.tracking.alias == release.challenger
    assert flywheel.run.trial != production.run.trial
    assert all(path in block for block in re.findall(r"^sparring (?:replay|export) .*$", PAGE, re.MULTILINE))


@pytest.fixture
def terminal() -> Iterator[tuple[Terminal, dict[str, str]]]:
    """A reader's terminals in a copy of the project, whose registered champion is mediocre, and the page's ports."""
    ports = {port: str(free_port()) for port in ("36390", "8000")}
    with tempfile.TemporaryDirectory(prefix="wheel-", dir="/tmp", ignore_cleanup_errors=True) as name:
        root = Path(name)
        configs = root / "project" / "configs"
        copy_project(root / "project")
        write_mediocre_expert(root / "expert")
        for config in ("base", "imitation"):
            change(configs / f"{config}.yaml", actors__main__port=int(ports["36390"]))
        change(configs / "flywheel.yaml", launch__goal__mean_return=150)
        change(root / "project" / "serve_config.yaml", http_options__port=int(ports["8000"]))
        (root / "logs").mkdir()
        reader = Terminal(root / "project", root / "logs", reader_env(root / "home") | {"RAY_TMPDIR": name})
        config = "--config configs/production.yaml --json"
        clone = json.loads(reader.run(f"sparring models clone {root / 'expert'} {config}"))
        reader.run(f"sparring models register {clone['id']} {config} --alias champion")
        yield reader, ports
        reader.stop_all()


@pytest.mark.e2e
@pytest.mark.timeout(600)
def test_recorded_games_become_the_next_champion_by_the_commands_of_the_page(
    terminal: tuple[Terminal, dict[str, str]],
) -> None:
    reader, ports = terminal
    output = ""
    for block in readme.blocks(replaced(PAGE, ports)):
        if "stop-all" in block.how:
            reader.stop_all()
        commands = re.sub(r"^(sparring launch .*)$", rf"\1 --serve-port {ports['8000']}", block.commands, flags=re.M)
        output = reader.do(readme.Block(commands, block.output, block.how))
        assert shows(output, block.output), f"{commands}\nprints\n{output}\ninstead of\n{block.output}"
    before, after = re.findall(r"^release main .*$", output, re.MULTILINE)
    assert "champion 1  challenger 2 plays 50.0%" in before
    assert "champion 2" in after
    played = dict(re.findall(r"^  ([12])  \d+ sessions  (\d+) games", output, re.MULTILINE))
    assert int(played["1"]) + int(played["2"]) >= 100
    assert int(played["2"]) > 10
    found = json.loads(reader.run("sparring models list --config configs/production.yaml --registered --json"))
    assert [one["aliases"] for one in found["registered"] if int(one["number"]) == 2] == [["champion"]]
