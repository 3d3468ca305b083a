from hypothesis import given
from hypothesis import strategies as st

from app.releases.share import plays_challenger
from app.types import Version

CHALLENGER = Version(0, 2)
IDS = [f"session-{number}" for number in range(1000)]


@given(st.text(min_size=1), st.integers(1, 999))
def test_nobody_plays_a_share_of_nothing_and_everybody_plays_all(session: str, number: int) -> None:
    assert not plays_challenger(session, Version(0, number), 0.0)
    assert plays_challenger(session, Version(0, number), 1.0)


@given(st.text(min_size=1), st.floats(0, 1), st.floats(0, 1))
def test_who_plays_it_at_one_share_plays_it_at_every_larger_one(session: str, one: float, other: float) -> None:
    small, large = sorted((one, other))
    assert plays_challenger(session, CHALLENGER, large) or not plays_challenger(session, CHALLENGER, small)


@given(st.floats(0, 1))
def test_the_share_of_many_sessions_is_the_one_asked_for(share: float) -> None:
    played = sum(plays_challenger(session, CHALLENGER, share) for session in IDS) / len(IDS)
    assert abs(played - share) < 0.08  # Five standard deviations of 1,000 draws.


def test_two_challengers_draw_their_own_sessions() -> None:
    both = sum(plays_challenger(i, CHALLENGER, 0.5) and plays_challenger(i, Version(0, 3), 0.5) for i in IDS)
    assert abs(both / len(IDS) - 0.25) < 0.08
