from app.replay.claims import LEASE_S, Claims
from app.types import Version

FIRST, SECOND = Version(1, 0), Version(1, 1)


def test_one_replica_at_a_time_plays_what_a_version_lacks() -> None:
    claims = Claims()
    assert claims.take("a", FIRST, 0.0)
    assert not claims.take("b", FIRST, 0.0)
    assert claims.take("a", FIRST, 0.1)
    assert claims.take("b", SECOND, 0.2)


def test_another_one_plays_it_where_the_first_made_no_progress_for_a_lease() -> None:
    claims = Claims()
    claims.take("a", FIRST, 10.0)
    assert not claims.take("b", FIRST, 10.0 + LEASE_S - 0.01)
    claims.renew("a", FIRST, 10.0 + LEASE_S - 0.01)
    assert not claims.take("b", FIRST, 10.0 + 2 * LEASE_S - 0.1)
    assert claims.take("b", FIRST, 10.0 + 2 * LEASE_S)


def test_who_plays_nothing_prolongs_nothing() -> None:
    claims = Claims()
    claims.renew("b", FIRST, 10.0)
    claims.take("a", FIRST, 10.0)
    claims.renew("b", FIRST, 11.0)
    claims.renew("a", SECOND, 11.0)
    assert claims.take("b", FIRST, 10.0 + LEASE_S)
