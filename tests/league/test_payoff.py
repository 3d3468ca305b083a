import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.league.payoff import FIRST_CAPACITY, Payoff

matches = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 3), st.sampled_from([0.0, 0.5, 1.0])).filter(lambda m: m[0] != m[1]),
    max_size=30,
)


def payoff_of(players: int, decay: float = 1.0, prior_games: float = 0.0) -> Payoff:
    payoff = Payoff(decay, prior_games)
    for number in range(players):
        payoff.add(f"p{number}")
    return payoff


def test_a_pair_that_has_not_met_is_even() -> None:
    payoff = payoff_of(2)
    assert payoff.win_rate("p0", "p1") == 0.5
    assert payoff.games("p0", "p1") == 0


def test_a_draw_is_half_a_win_for_each_side() -> None:
    payoff = payoff_of(2)
    payoff.record("p0", "p1", 0.5)
    payoff.record("p0", "p1", 1.0)
    assert payoff.win_rate("p0", "p1") == 0.75
    assert payoff.win_rate("p1", "p0") == 0.25
    assert payoff.games("p1", "p0") == 2


@given(matches, st.sampled_from([0.9, 1.0]), st.sampled_from([0.0, 2.0]))
def test_rates_are_antisymmetric_and_follow_the_results_by_hand(
    played: list[tuple[int, int, float]], decay: float, prior: float
) -> None:
    payoff = payoff_of(4, decay, prior)
    wins, total = np.zeros((4, 4)), np.zeros((4, 4))
    for home, away, score in played:
        payoff.record(f"p{home}", f"p{away}", score)
        for a, b, points in ((home, away, score), (away, home, 1 - score)):
            wins[a, b], total[a, b] = decay * wins[a, b] + points, decay * total[a, b] + 1
    got = payoff.matrix([f"p{number}" for number in range(4)])
    np.testing.assert_allclose(got + got.T, 1.0)
    met = total + prior > 0
    np.testing.assert_allclose(got[met], ((wins + prior / 2)[met]) / (total + prior)[met])
    assert (got[~met] == 0.5).all()


def test_with_decay_the_newest_results_count_most() -> None:
    payoff = payoff_of(2, decay=0.5)
    for score in (0.0, 0.0, 1.0, 1.0):
        payoff.record("p0", "p1", score)
    assert payoff.win_rate("p0", "p1") == pytest.approx(1.5 / 1.875)


def test_there_is_room_for_any_number_of_players() -> None:
    payoff = payoff_of(3 * FIRST_CAPACITY)
    payoff.record("p0", f"p{3 * FIRST_CAPACITY - 1}", 1.0)
    assert payoff.win_rate("p0", f"p{3 * FIRST_CAPACITY - 1}") == 1.0
    assert len(payoff.players) == 3 * FIRST_CAPACITY


def test_bad_results_and_players_are_refused() -> None:
    payoff = payoff_of(2)
    with pytest.raises(ValueError, match="already"):
        payoff.add("p0")
    with pytest.raises(ValueError, match="score in"):
        payoff.record("p0", "p1", 1.5)
    with pytest.raises(ValueError, match="two players"):
        payoff.record("p0", "p0", 1.0)
    with pytest.raises(KeyError):
        payoff.record("p0", "nobody", 1.0)
    with pytest.raises(ValueError, match=r"decay in \(0, 1\]"):
        Payoff(0.0)
    assert payoff.games("p0", "p1") == 0
