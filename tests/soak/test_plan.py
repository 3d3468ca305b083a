import pytest

from tests.soak.plan import FIRST_S, KINDS, QUIET_SHARE, plan


def test_a_seed_and_a_length_give_the_same_faults() -> None:
    assert plan(3, 3600) == plan(3, 3600)
    assert plan(3, 3600) != plan(4, 3600)


@pytest.mark.parametrize("seconds", [150, 300, 3600, 36_000])
def test_each_kind_comes_and_the_end_is_quiet(seconds: float) -> None:
    faults = plan(1, seconds)
    assert {fault.kind for fault in faults} == set(KINDS)
    times = [fault.at_s for fault in faults]
    assert times == sorted(times)
    assert times[0] >= FIRST_S
    assert times[-1] <= seconds * (1 - QUIET_SHARE)


def test_no_kind_comes_a_second_time_before_all_have_come() -> None:
    kinds = [fault.kind for fault in plan(5, 3600)]
    rounds = [kinds[at : at + len(KINDS)] for at in range(0, len(kinds) - len(KINDS) + 1, len(KINDS))]
    assert len(rounds) > 5
    assert all(set(found) == set(KINDS) for found in rounds)


def test_a_soak_without_faults_is_refused() -> None:
    with pytest.raises(ValueError, match="allowed are replica, rank"):
        plan(1, 60, [])
