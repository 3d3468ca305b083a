from hypothesis import given
from hypothesis import strategies as st

from app.sessions.directory import FRESH_S, LEASE_S, SILENT_S, Claim, Directory, Load, Replica

A, B = Replica("a", "127.0.0.1", 1, actor="main"), Replica("b", "127.0.0.1", 2, actor="main")


def directory(*replicas: Replica) -> Directory:
    games = Directory(epoch=100)
    for replica in replicas or (A, B):
        games.join(replica, [], now_s=0.0)
    return games


def test_the_first_claim_wins_and_each_has_an_epoch_of_its_own() -> None:
    games = directory()
    assert games.claim("g", "a") == Claim("a", 101)
    assert games.claim("g", "b") == games.claim("g", "a") == Claim("a", 101)
    assert games.claim("h", "b") == Claim("b", 102)
    assert games.find("g") == (Claim("a", 101), A)
    assert games.find("nobody's") == (None, None)


def test_a_game_that_was_let_go_may_be_claimed_by_another() -> None:
    games = directory()
    epoch = games.claim("g", "a").epoch
    games.release([("g", epoch), ("unknown", 3)], "a")
    assert games.find("g") == (None, None)
    assert games.claim("g", "b").owner == "b"


def test_nobody_lets_go_what_another_holds_or_what_was_claimed_anew_since() -> None:
    games = directory()
    old = games.claim("g", "a").epoch
    games.release([("g", old)], "b")
    assert games.find("g")[1] == A
    games.release([("g", old)], "a")
    new = games.claim("g", "a").epoch
    games.release([("g", old)], "a")
    assert games.find("g") == (Claim("a", new), A)


def test_the_games_of_a_replica_that_left_are_known_as_gone_until_somebody_takes_them() -> None:
    games = directory()
    games.claim("g", "a")
    games.claim("h", "b")
    games.leave("a")
    games.leave("a")
    assert games.find("g") == (Claim("a", 101), None)
    assert games.find("h")[1] == B
    assert games.recover("g", "b") == Claim("b", 103)
    assert games.recover("g", "b") == Claim("b", 103)  # Nobody takes it twice.
    assert games.find("g")[1] == B
    assert games.recover("unknown", "b") is None


def test_of_two_that_would_take_a_lost_game_the_first_does() -> None:
    c = Replica("c", "127.0.0.1", 3)
    games = directory(A, B, c)
    games.claim("g", "a")
    games.leave("a")
    first, second = games.recover("g", "b"), games.recover("g", "c")
    assert first == second == Claim("b", 102)


def test_a_game_that_could_not_be_restored_is_gone_again() -> None:
    games = directory()
    games.claim("g", "a")
    games.leave("a")
    games.recover("g", "b")
    games.give_up("g", "a")
    assert games.find("g")[1] == B
    games.give_up("g", "b")
    assert games.find("g")[1] is None


def test_a_game_moves_if_it_is_the_givers_still() -> None:
    games = directory()
    epoch = games.claim("g", "a").epoch
    assert games.move("g", "b", epoch, "a") is None
    assert games.move("g", "a", epoch - 1, "b") is None
    assert games.move("g", "a", epoch, "nobody") is None
    assert games.move("g", "a", epoch, "b") == Claim("b", epoch + 1)
    assert games.move("g", "a", epoch, "b") is None


def test_a_replica_that_joins_again_is_reached_at_its_new_address_and_keeps_its_games() -> None:
    games = directory()
    games.claim("g", "a")
    moved = Replica("a", "127.0.0.1", 9)
    assert games.join(moved, [("g", 101)], 1.0) == []
    assert games.find("g")[1] == moved


def test_a_directory_that_began_anew_learns_what_each_replica_holds() -> None:
    games = Directory(epoch=500)
    assert games.join(A, [("g", 700), ("h", 3)], 0.0) == []
    assert games.join(B, [("g", 699), ("i", 4)], 0.0) == ["g"]
    assert games.find("g") == (Claim("a", 700), A)
    assert games.claim("new", "b").epoch == 701


def test_new_games_go_to_replicas_of_the_same_actor_that_have_reported_and_do_not_drain() -> None:
    other = Replica("o", "127.0.0.1", 3, actor="other")
    games = directory(A, B, other)
    games.report("a", Load(10.0, games=3))
    games.report("b", Load(10.0, games=1, draining=True))
    games.report("o", Load(10.0))
    games.report("unknown", Load(10.0))
    assert games.fresh("main", 10.0 + FRESH_S) == {"a": 3}
    assert games.fresh("main", 10.1 + FRESH_S) == {}


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["claim", "release", "leave", "join", "recover", "move", "give_up"]),
            st.sampled_from("gh"),
            st.sampled_from("ab"),
            st.sampled_from("ab"),
        ),
        max_size=40,
    )
)
def test_a_game_has_at_most_one_live_owner_and_epochs_only_grow(moves: list[tuple[str, str, str, str]]) -> None:
    games = directory()
    newest: dict[str, int] = {}
    for verb, game, name, other in moves:
        epoch = games.claims[game].epoch if game in games.claims else 0
        if verb == "leave":
            games.leave(name)
        elif verb == "join":
            games.join({"a": A, "b": B}[name], [], 0.0)
        elif verb == "release":
            games.release([(game, epoch)], name)
        elif verb == "move":
            games.move(game, name, epoch, other)
        elif name in games.replicas:
            getattr(games, verb)(game, name)
        for held, claim in games.claims.items():
            assert claim.owner in games.replicas
            assert held not in games.gone
            assert claim.epoch >= newest.get(held, 0)
            newest[held] = claim.epoch


def test_a_replica_is_gone_by_its_silence_alone_where_nobody_reaches_it() -> None:
    games = directory()
    games.claim("g", "a")
    games.report("a", Load(at_s=10.0))
    assert not games.leave_if_silent("a", 10.0 + SILENT_S)
    assert games.find("g") == (Claim("a", 101), A)
    assert games.leave_if_silent("a", 10.1 + SILENT_S)
    assert games.find("g") == (Claim("a", 101), None)
    assert games.leave_if_silent("a", 10.2 + SILENT_S)


def test_who_comes_back_after_it_was_taken_for_gone_keeps_what_nobody_took_and_nothing_else() -> None:
    games = directory()
    held = [(game, games.claim(game, "a").epoch) for game in ("kept", "played", "over")]
    games.leave("a")
    epoch = games.recover("over", "b")
    assert epoch is not None
    games.release([("over", epoch.epoch)], "b")  # It was played to its end meanwhile.
    games.recover("played", "b")
    assert games.join(A, held, now_s=20.0) == ["played", "over"]
    assert games.find("kept") == (Claim("a", 101), A)
    assert games.find("played")[1] == B
    assert games.find("over") == (None, None)


def test_a_replica_answers_no_longer_than_the_directory_waits() -> None:
    assert LEASE_S < SILENT_S


def test_of_a_replica_that_another_knew_it_waits_to_be_told_and_gives_it_no_new_games() -> None:
    games = Directory(epoch=100)
    games.join(A, [], now_s=0.0)
    games.expect([A, B, Replica("gateway", "", 0, actor="main")], now_s=0.0)
    assert (games.awaited, set(games.replicas), games.fresh("main", 0.0)) == ({"b"}, {"a", "b"}, {"a": 0})
    assert not games.leave_if_silent("b", SILENT_S)
    games.report("b", Load(0.5, 3))  # It reports before it finds out that this is another directory.
    assert games.fresh("main", 0.5) == {"a": 0}
    games.join(B, [("g", 7)], now_s=1.0)
    assert (games.awaited, games.find("g")) == (set(), (Claim("b", 7), B))
    assert games.fresh("main", 1.0) == {"a": 0, "b": 0}


def test_whoever_is_gone_is_not_waited_for() -> None:
    games = Directory(epoch=100)
    games.expect([A, B], now_s=0.0)
    games.leave("a")
    assert games.leave_if_silent("b", SILENT_S + 0.1)
    assert (games.awaited, games.replicas) == (set(), {})
