"""How trials are named and what they failed of."""

import pytest

from train.search.watch import cause, named, shown

TRACE = """ray::ImplicitFunc.train() (pid=1)
  File "x.py", line 3, in train
    raise ConfigError("two lines")
app.errors.ConfigError: own.yaml: 1 problem
  trainers.main: is wrong
"""


@pytest.mark.parametrize(("trial_id", "name"), [("bc3a8_00000", "trial_000"), ("bc3a8_00123", "trial_123")])
def test_a_trial_is_named_by_its_number(trial_id: str, name: str) -> None:
    assert named(trial_id) == name


def test_a_trace_is_told_by_its_end_alone() -> None:
    assert cause(TRACE) == "app.errors.ConfigError: own.yaml: 1 problem\n  trainers.main: is wrong"
    assert cause("killed") == "killed"


def test_values_are_shown_by_the_last_word_of_their_path() -> None:
    assert shown({"a.b.rate": 0.000123456, "a.size": 64}) == "rate 0.0001235, size 64"
