import pytest

from tests.soak.ledger import GameRecord, Ledger, ledger_of, slope_per_hour


def game(ticks: int = 3) -> GameRecord:
    """A game with so many ticks of the value 10."""
    record = GameRecord("a", keeps_every=5)
    for _ in range(ticks):
        record.sent(10)
    return record


def answer(ticks: int = 3, total: int = 30, missed: int = 0, session: str = "a") -> dict[str, object]:
    return {"session": session, "ticks": ticks, "total": total, "missed": missed}


def test_an_answer_of_the_newest_tick_is_right() -> None:
    ledger = Ledger()
    assert game().check(answer(), ledger)
    assert ledger == Ledger()


@pytest.mark.parametrize(
    ("wrong", "kind"),
    [
        (answer(session="b"), "wrong_session"),
        (answer(ticks=4, total=40), "double"),
        (answer(ticks=2, total=20), "lost_tick"),
        (answer(total=31), "wrong_sum"),
        (answer(total=10, missed=6), "forgot_too_much"),
        (answer(missed=-1), "forgot_too_much"),
    ],
)
def test_each_kind_of_wrong_answer_is_told(wrong: dict[str, object], kind: str) -> None:
    ledger = Ledger()
    assert not game().check(wrong, ledger)
    assert ledger.counts == {kind: 1}
    assert ledger.failures[0].startswith(f"{kind}: a tick 3")


def test_a_game_that_goes_on_from_a_snapshot_may_forget_what_came_after_it() -> None:
    ledger, record = Ledger(), game()
    assert record.check(answer(total=10, missed=2), ledger)
    record.sent(10)
    assert record.check(answer(ticks=4, total=20, missed=2), ledger)
    assert (ledger.resumed, ledger.missed_ticks) == (1, 2)


def test_percentiles_are_at_most_six_percent_above() -> None:
    ledger = Ledger()
    for milliseconds in range(1, 1001):
        ledger.took(milliseconds / 1000)
    assert Ledger().percentile_ms(0.5) is None
    for share, wanted in [(0.5, 500), (0.99, 990), (1.0, 1000)]:
        found = ledger.percentile_ms(share)
        assert found is not None
        assert wanted <= found <= 1.06 * wanted


def test_a_ledger_comes_back_as_it_was() -> None:
    ledger = Ledger(ticks=5, games=1)
    ledger.took(0.01)
    ledger.fail("lost", "a game")
    assert ledger_of(ledger.as_dict()) == ledger


def test_a_slope_is_that_of_a_line() -> None:
    assert slope_per_hour([(0, 100), (1800, 150), (3600, 200)]) == pytest.approx(100)
    assert slope_per_hour([(0, 1), (1, 2)]) is None
    assert slope_per_hour([(1, 1), (1, 2), (1, 3)]) is None
