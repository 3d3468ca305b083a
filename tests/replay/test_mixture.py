"""Turns of several inputs: exact shares, starving inputs, restarts."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.errors import CheckpointError
from app.replay.mixture import Mixture


def next_of(mixture: Mixture, ready: list[bool], *, skips: bool = False) -> int | None:
    """Returns the input that the next batch comes from where these have one; None where it has to be waited for."""
    if not any(ready) or (not ready[mixture.due()] and not skips):
        return None
    while not ready[mixture.due()]:
        mixture.lose_turn()
    due = mixture.due()
    mixture.take_turn()
    return due


Weights = st.lists(st.one_of(st.integers(1, 20).map(float), st.floats(1, 20)), min_size=1, max_size=7)


def shares(weights: list[float]) -> list[Fraction]:
    return [Fraction(weight) / sum(map(Fraction, weights)) for weight in weights]


@settings(max_examples=40)
@given(Weights, st.integers(1, 80))
def test_no_input_is_ever_a_whole_turn_off_its_share(weights: list[float], turns: int) -> None:
    mixture = Mixture(weights)
    for turn in range(1, turns + 1):
        assert next_of(mixture, [True] * len(weights)) is not None
        for taken, share in zip(mixture.taken, shares(weights), strict=True):
            assert abs(taken - turn * share) < 1


@settings(max_examples=40)
@given(Weights, st.data())
def test_skipped_turns_count_as_had_and_the_rest_keep_their_shares(weights: list[float], data: st.DataObject) -> None:
    mixture = Mixture(weights)
    flags = st.lists(st.booleans(), min_size=len(weights), max_size=len(weights))
    for ready in data.draw(st.lists(flags, max_size=60)):
        before = mixture.taken
        chosen = next_of(mixture, ready, skips=True)
        assert (chosen is None) == (not any(ready))
        if chosen is not None:
            assert ready[chosen]
            assert sum(mixture.taken) == sum(before) + 1
        turns = sum(mixture.taken) + sum(mixture.skipped)
        for taken, skipped, share in zip(mixture.taken, mixture.skipped, shares(weights), strict=True):
            assert abs(taken + skipped - turns * share) < 1


def test_turns_are_spread_evenly() -> None:
    mixture = Mixture([2, 1])
    assert [next_of(mixture, [True, True]) for _ in range(6)] == [0, 0, 1, 0, 0, 1]


def test_a_starving_input_is_waited_for_or_skipped_and_counted() -> None:
    waiting = Mixture([1, 1])
    assert [next_of(waiting, [True, False]) for _ in range(3)] == [0, None, None]
    assert (waiting.due(), waiting.taken, waiting.skipped) == (1, (1, 0), (0, 0))
    assert next_of(waiting, [True, True]) == 1
    skipping = Mixture([1, 1])
    assert [next_of(skipping, [True, False], skips=True) for _ in range(3)] == [0, 0, 0]
    assert (skipping.taken, skipping.skipped) == ((3, 0), (0, 2))
    assert next_of(skipping, [False, False], skips=True) is None
    # It comes back to its own share, not to what it has missed.
    assert [next_of(skipping, [True, True], skips=True) for _ in range(4)] == [1, 0, 1, 0]


@settings(max_examples=40)
@given(Weights, st.integers(0, 40))
def test_a_restarted_mixture_goes_on_as_the_other_would_have(weights: list[float], turns: int) -> None:
    whole = Mixture(weights)
    everyone = [True] * len(weights)
    for turn in range(turns):
        next_of(whole, [turn % 3 > 0, *everyone[1:]], skips=True)
    again = Mixture(weights)
    again.load_state_dict(whole.state_dict())
    assert [next_of(again, everyone) for _ in range(20)] == [next_of(whole, everyone) for _ in range(20)]
    assert again.skipped == whole.skipped


@pytest.mark.parametrize("weights", [[], [0.0, 1.0], [-1.0], [float("inf")], [float("nan")]])
def test_impossible_weights_are_refused(weights: list[float]) -> None:
    with pytest.raises(ValueError, match="finite weights above 0"):
        Mixture(weights)


def test_a_weight_so_small_that_skipping_would_take_long_is_refused() -> None:
    with pytest.raises(ValueError, match="up to 1000 times the smallest"):
        Mixture([1.0, 0.0009])


def test_what_is_of_another_mixture_is_refused() -> None:
    with pytest.raises(CheckpointError, match="mixture of 2 inputs; there are 3"):
        Mixture([1, 1, 1]).load_state_dict(Mixture([1, 1]).state_dict())
