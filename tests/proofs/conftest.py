"""One thread for torch, and a table of what was learned behind the tests."""

from collections.abc import Callable

import pytest

from tests.one_thread import one_thread  # noqa: F401  # Pytest finds it here.

from .learning import Proof

Tell = Callable[[Proof], Proof]


@pytest.fixture
def told(record_property: Callable[[str, object], None]) -> Tell:
    """Notes what a proof gave, for the table at the end, and returns it."""

    def note(proof: Proof) -> Proof:
        record_property("proof", proof.line())
        return proof

    return note


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = [*terminalreporter.getreports("passed"), *terminalreporter.getreports("failed")]
    lines = sorted({str(line) for one in reports for name, line in one.user_properties if name == "proof"})
    if lines:
        terminalreporter.section("what was learned: config, seed, steps, return, CPU seconds, curve")
        for line in lines:
            terminalreporter.line(line)
