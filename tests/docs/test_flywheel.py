"""The chain of docs/flywheel.md turns once: recorded games become a challenger, and the challenger the champion."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from app.config.load import load
from app.config.recording import RecordConfig

from . import readme
from .mediocre import reader_of_a_mediocre_project
from .readme import ROOT, Terminal, change, replaced, shows

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
def terminal() -> Iterator[tuple[Terminal, dict[str, str], Path]]:
    """A reader's terminals in a copy of the project, whose registered champion is mediocre, the ports, and a folder."""
    with reader_of_a_mediocre_project("wheel-") as reader:
        change(reader.configs / "flywheel.yaml", launch__goal__mean_return=150)
        config = "--config configs/production.yaml --json"
        clone = json.loads(reader.terminal.run(f"sparring models clone {reader.folder / 'expert'} {config}"))
        reader.terminal.run(f"sparring models register {clone['id']} {config} --alias champion")
        yield reader.terminal, reader.ports, reader.folder


def cluster_of(folder: Path) -> str:
    """Returns the address of the cluster that was started last with its files there."""
    (port,) = (folder / "ray" / "session_latest").glob("gcs_server_port_*")
    return f"127.0.0.1:{port.read_text()}"


@pytest.mark.e2e
@pytest.mark.timeout(900)
def test_recorded_games_become_the_next_champion_by_the_commands_of_the_page(
    terminal: tuple[Terminal, dict[str, str], Path],
) -> None:
    reader, ports, folder = terminal
    output = ""
    for block in readme.blocks(replaced(PAGE, ports)):
        if "stop-all" in block.how:
            reader.stop_all()
        commands = re.sub(r"^(sparring launch .*)$", rf"\1 --serve-port {ports['8000']}", block.commands, flags=re.M)
        # On the machine of a reader no other cluster runs.
        variables = {"RAY_ADDRESS": cluster_of(folder)} if "sparring release" in commands else {}
        output = reader.do(readme.Block(commands, block.output, block.how), **variables)
        assert shows(output, block.output), f"{commands}\nprints\n{output}\ninstead of\n{block.output}"
    before, after = re.findall(r"^release main .*$", output, re.MULTILINE)
    assert "champion 0.1  challenger 0.2 plays 50.0%" in before
    assert "champion 0.2" in after
    champion, challenger, *_ = re.findall(r"^  0\.[12]  \d+ sessions  (\d+) games", output, re.MULTILINE)
    assert int(champion) + int(challenger) > 80  # The last reports may be under way.
    assert int(challenger) > 10
    found = json.loads(reader.run("sparring models list --config configs/production.yaml --registered --json"))
    assert [one["aliases"] for one in found["registered"] if int(one["number"]) == 2] == [["champion"]]
