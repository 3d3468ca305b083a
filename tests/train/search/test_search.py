"""Which trial is the best."""

from dataclasses import replace

import pytest

from train.search.result import Candidate
from train.search.search import SearchError, best_of

ONE = Candidate("trial_000", "finished", 10, 1.0, {}, 0, None, None)
TWO = replace(ONE, name="trial_001", metric=2.0, ending="stopped")
FAILED = replace(ONE, name="trial_002", metric=3.0, ending="failed", error="ValueError: no")


def test_the_best_is_the_largest_or_the_smallest_of_those_that_did_not_fail() -> None:
    assert best_of([ONE, TWO, FAILED], "max") is TWO
    assert best_of([ONE, TWO, FAILED], "min") is ONE


def test_a_search_of_failures_tells_what_they_failed_of() -> None:
    with pytest.raises(SearchError, match="ValueError: no"):
        best_of([FAILED, replace(FAILED, name="trial_003")], "max")
