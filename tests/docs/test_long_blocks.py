"""Blocks that learn or measure for minutes: a reader types each line of them as it stands, in a copy of the project."""

import json
from collections.abc import Iterator

import pytest

from .accounts import LONG, Account, lines_to_type
from .reader import reader_of_a_copy
from .readme import Terminal

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(3600)]
LINE_S = 1500.0
"""Longest time of one line, on a machine that does other things beside it."""
PRINTS_JSON = ("--json", "make demo", "sparring launch", "sparring evolve")
"""What a line holds whose last line of output is for programs."""


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    with reader_of_a_copy("long-", LINE_S) as reader:
        yield reader.terminal


@pytest.mark.parametrize("account", LONG, ids=lambda one: f"{one.page}-{one.holds}")
def test_a_block_that_takes_minutes_does_what_it_says(account: Account, terminal: Terminal) -> None:
    terminal.run("make -q setup")  # Else the copy would install itself into the environment of the tests.
    for line in lines_to_type(account):  # But for what runs the tests, which is not run by one.
        output = terminal.run(line)
        assert "Traceback" not in output, output
        if ">> " in line:
            output = terminal.run(f"cat {line.rpartition('>> ')[2]}")
        if any(words in line for words in PRINTS_JSON):
            result = json.loads(output.splitlines()[-1])
            assert result.get("solved", True), result
            assert result.get("errors", 0) == 0, result
