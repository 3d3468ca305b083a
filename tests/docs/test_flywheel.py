"""The chain of docs/flywheel.md turns once: recorded games become a challenger, and the challenger the champion."""

import json
import re
from collections.abc import Iterator

import httpx
import pytest
import yaml

from app.config.load import load
from app.config.recording import RecordConfig
from tests.e2e.commands import wait_until

from . import readme
from .mediocre import reader_of_a_mediocre_project
from .reader import Reader
from .readme import ROOT, change, replaced, shows

PAGE = (ROOT / "docs" / "flywheel.md").read_text(encoding="utf-8")
CONFIGS = ROOT / "configs"
TAKEN_S = 60.0
"""Longest time until a service that listens plays the challenger as well: it is loaded beside the start."""


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
def reader() -> Iterator[Reader]:
    """A reader in a copy of the project, whose registered champion is mediocre."""
    with reader_of_a_mediocre_project("wheel-") as reader:
        change(reader.configs / "flywheel.yaml", launch__goal__mean_return=150)
        config = "--config configs/production.yaml --json"
        clone = json.loads(reader.terminal.run(f"sparring models clone {reader.folder / 'expert'} {config}"))
        reader.terminal.run(f"sparring models register {clone['id']} {config} --alias champion")
        yield reader


def challenger_of(reader: Reader) -> str | None:
    """Returns the version that the service plays beside the champion; None where there is none yet."""
    status = httpx.get(f"http://127.0.0.1:{reader.ports['36390']}/status", timeout=30).json()
    challenger: str | None = status["releases"]["main"]["challenger"]
    return challenger


@pytest.mark.e2e
@pytest.mark.long
@pytest.mark.timeout(900)
def test_recorded_games_become_the_next_champion_by_the_commands_of_the_page(
    reader: Reader,
) -> None:
    terminal, output = reader.terminal, ""
    for block in readme.blocks(replaced(PAGE, reader.ports)):
        if "stop-all" in block.how:
            terminal.stop_all()
        commands = re.sub(
            r"^(sparring launch .*)$", rf"\1 --serve-port {reader.ports['8000']}", block.commands, flags=re.M
        )
        variables = {}
        if "sparring release" in commands:
            variables["RAY_ADDRESS"] = reader.cluster()  # On the machine of a reader no other cluster runs.
            wait_until(lambda: challenger_of(reader) == "0.2", lambda: "the challenger is played", TAKEN_S)
        output = terminal.do(readme.Block(commands, block.output, block.how), **variables)
        assert shows(output, block.output), f"{commands}\nprints\n{output}\ninstead of\n{block.output}"
    before, after = re.findall(r"^release main .*$", output, re.MULTILINE)
    assert "champion 0.1  challenger 0.2 plays 50.0%" in before
    assert "champion 0.2" in after
    champion, challenger, *_ = re.findall(r"^  0\.[12]  \d+ sessions  (\d+) games", output, re.MULTILINE)
    assert int(champion) + int(challenger) > 80  # The last reports may be under way.
    assert int(challenger) > 10
    found = json.loads(terminal.run("sparring models list --config configs/production.yaml --registered --json"))
    assert [one["aliases"] for one in found["registered"] if int(one["number"]) == 2] == [["champion"]]
