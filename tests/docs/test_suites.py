"""Blocks that run tests select what they say: a reader types them, and pytest counts instead of running."""

import re
from pathlib import Path

import pytest

from .accounts import SUITES, Account, lines_to_type
from .readme import ROOT, Terminal, reader_env

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(900)]
COUNTED = re.compile(r"\b(\d+)(?:/\d+)? tests? collected")


@pytest.mark.parametrize("account", SUITES, ids=lambda one: f"{one.page}-{one.holds}")
def test_each_line_selects_tests(account: Account, tmp_path: Path) -> None:
    counting = {"PYTEST_ADDOPTS": "--collect-only"}
    terminal = Terminal(ROOT, tmp_path, reader_env(tmp_path / "home") | counting)
    terminal.run("make -q setup")  # Else the tests' own environment would be installed anew.
    for line in lines_to_type(account):
        output = terminal.run(line)
        counts = [int(count) for count in COUNTED.findall(output)]
        assert counts, output
        assert all(counts), output
