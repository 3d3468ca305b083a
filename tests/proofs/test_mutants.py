"""Each proof notices faults of its algorithm: with one put in, its short form stays below its line."""

import pytest

from .mutants import MUTANTS, Mutant
from .short import SHORTS, Short

pytestmark = [pytest.mark.mutant, pytest.mark.timeout(900)]


@pytest.mark.parametrize("short", SHORTS, ids=lambda short: short.config)
def test_without_a_fault_the_line_is_reached(short: Short) -> None:
    assert short.mean_return() >= short.line


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_fault_is_noticed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mutant.owner, mutant.attribute, mutant.fault(getattr(mutant.owner, mutant.attribute)))
    assert mutant.short.mean_return() < mutant.short.line
