from app.sessions.placement import SLACK_GAMES, better_place


def test_a_game_stays_where_it_came() -> None:
    assert better_place(5, {}, full=False) is None
    assert better_place(50, {"b": 40}, full=False) is None
    assert better_place(SLACK_GAMES, {"b": 0}, full=False) is None


def test_a_crowded_replica_sends_it_to_the_one_with_the_fewest() -> None:
    assert better_place(200, {"b": 100, "c": 90, "d": 90}, full=False) == "c"


def test_a_full_replica_sends_it_elsewhere_whatever_the_others_have() -> None:
    assert better_place(1, {"b": 100}, full=True) == "b"
    assert better_place(1, {}, full=True) is None


def test_nobody_sends_to_who_has_more() -> None:
    assert better_place(40, {"b": 41, "d": 0, "e": 0}, full=False) == "d"
    assert better_place(30, {"b": 31}, full=False) is None
