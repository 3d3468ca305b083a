"""How trials and their values are named."""

import pytest

from train.search.watch import named, shown


@pytest.mark.parametrize(("trial_id", "name"), [("bc3a8_00000", "trial_000"), ("bc3a8_00123", "trial_123")])
def test_a_trial_is_named_by_its_number(trial_id: str, name: str) -> None:
    assert named(trial_id) == name


def test_values_are_shown_by_the_last_word_of_their_path() -> None:
    assert shown({"a.b.rate": 0.000123456, "a.size": 64}) == "rate 0.0001235, size 64"
