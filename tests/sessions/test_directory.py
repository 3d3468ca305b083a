from app.sessions.directory import Directory, Replica

A, B = Replica("a", "127.0.0.1", 1), Replica("b", "127.0.0.1", 2)


def directory() -> Directory:
    both = Directory()
    both.join(A)
    both.join(B)
    return both


def test_the_first_claim_wins() -> None:
    games = directory()
    assert games.claim("g", "a") is None
    assert games.claim("g", "b") == A
    assert games.claim("g", "a") is None
    assert games.owner("g") == A


def test_a_game_that_was_let_go_may_be_claimed_by_another() -> None:
    games = directory()
    games.claim("g", "a")
    games.release(["g", "unknown"], "a")
    assert games.owner("g") is None
    assert games.claim("g", "b") is None


def test_nobody_lets_go_what_another_holds() -> None:
    games = directory()
    games.claim("g", "a")
    games.release(["g"], "b")
    assert games.owner("g") == A


def test_the_games_of_a_replica_that_left_are_free_and_the_others_are_not() -> None:
    games = directory()
    games.claim("g", "a")
    games.claim("h", "b")
    games.leave("a")
    games.leave("a")
    assert games.owner("g") is None
    assert games.owner("h") == B
    assert games.claim("g", "b") is None


def test_a_replica_that_joins_again_is_reached_at_its_new_address() -> None:
    games = directory()
    games.claim("g", "a")
    moved = Replica("a", "127.0.0.1", 9)
    games.join(moved)
    assert games.owner("g") == moved
