from app.releases.plan import Barred, Named, Plan, Wishes, next_plan, played_as

ALL = frozenset(range(1, 10))
NONE = Barred()


def test_the_champion_that_is_named_plays_once_it_is_usable() -> None:
    wishes = Wishes(Named(2))
    assert next_plan(wishes, Plan(played_as(1)), frozenset({1}), NONE, 0.0).champion == played_as(1)
    assert next_plan(wishes, Plan(played_as(1)), ALL, NONE, 0.0).champion == played_as(2)


def test_a_registry_that_names_nobody_leaves_the_champion_in_place() -> None:
    assert next_plan(Wishes(), Plan(played_as(1)), ALL, NONE, 0.0) == Plan(played_as(1))


def test_a_challenger_gets_its_share_and_a_shadow_none() -> None:
    plan = next_plan(Wishes(Named(1), Named(2), Named(3)), Plan(), ALL, NONE, 0.2)
    assert plan == Plan(played_as(1), played_as(2), 0.2, played_as(3))


def test_what_is_refused_or_rolled_back_is_not_tried() -> None:
    for barred, named in (
        (Barred(refused={2: "broken"}), Named(2)),
        (Barred(rolled_back={2: "bad"}), Named(2)),
        (NONE, Named(2, "its tag says so")),
    ):
        assert next_plan(Wishes(Named(1), named, named), Plan(), ALL, barred, 0.2) == Plan(played_as(1))


def test_a_refused_champion_does_not_replace_the_present_one() -> None:
    plan = next_plan(Wishes(Named(2)), Plan(played_as(1)), ALL, Barred(refused={2: "broken"}), 0.0)
    assert plan.champion == played_as(1)


def test_a_version_that_was_rolled_back_plays_where_somebody_makes_it_the_champion() -> None:
    assert next_plan(Wishes(Named(2, "bad")), Plan(played_as(1)), ALL, NONE, 0.0).champion == played_as(2)


def test_a_challenger_that_is_the_champion_is_none() -> None:
    assert next_plan(Wishes(Named(1), Named(1)), Plan(), ALL, NONE, 0.2) == Plan(played_as(1))


def test_sessions_play_the_challenger_or_the_champion() -> None:
    plan = Plan(played_as(1), played_as(2), 0.5)
    played = [plan.version_for(str(number)) for number in range(100)]
    assert set(played) == plan.versions() == {played_as(1), played_as(2)}
    assert {Plan(played_as(1), None, 0.5).version_for(str(n)) for n in range(9)} == {played_as(1)}
