import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.replay.ancestry import REMEMBERED, UNRELATED, Ancestry, Origin
from app.types import Version


def ages(ancestry: Ancestry, newest: Version, *acted: Version) -> list[int]:
    generations, numbers = np.array(acted, np.int32).reshape(-1, 2).T
    return ancestry.ages(generations, numbers, newest).tolist()


def test_without_ancestry_rows_of_other_generations_are_unrelated() -> None:
    assert ages(Ancestry(), Version(3, 7), Version(3, 7), Version(3, 2), Version(2, 7)) == [0, 5, UNRELATED]


def test_rows_that_are_newer_than_what_is_known_are_not_old() -> None:
    assert ages(Ancestry(), Version(3, 7), Version(3, 9), Version(4, 100)) == [-2, 0]


def test_rows_of_the_generation_before_count_by_the_version_that_the_new_one_went_on_from() -> None:
    went_on = Ancestry((Origin(2, Version(1, 50)),))
    acted = (Version(1, 50), Version(1, 48), Version(2, 1))
    assert ages(went_on, Version(2, 0), *acted) == [0, 2, -1]
    assert ages(went_on, Version(2, 6), *acted) == [6, 8, 5]


def test_rows_that_were_played_after_the_checkpoint_are_counted_back_over_the_lost_updates() -> None:
    assert ages(Ancestry((Origin(2, Version(1, 50)),)), Version(2, 6), Version(1, 53)) == [9]


def test_ages_add_up_over_several_starts() -> None:
    went_on = Ancestry((Origin(4, Version(1, 10)), Origin(5, Version(4, 20))))
    assert ages(went_on, Version(5, 3), Version(4, 18), Version(1, 10), Version(1, 7)) == [5, 23, 26]


def test_two_starts_from_one_checkpoint_part_there() -> None:
    went_on = Ancestry((Origin(2, Version(1, 10)), Origin(3, Version(1, 10))))
    assert ages(went_on, Version(3, 4), Version(2, 6), Version(2, 0), Version(1, 8)) == [10, 4, 6]


def test_a_start_from_a_checkpoint_before_the_newest_one_parts_there_too() -> None:
    went_on = Ancestry((Origin(2, Version(1, 10)), Origin(3, Version(2, 5)), Origin(4, Version(1, 10))))
    # From 3.2 back over 2.5 to 1.10, and four versions forward.
    assert ages(went_on, Version(4, 4), Version(3, 2)) == [2 + 5 + 4]


def test_what_both_know_is_joined_and_the_oldest_is_forgotten() -> None:
    first, second = (
        Ancestry((Origin(3, Version(2, 1)),)),
        Ancestry((Origin(2, Version(1, 4)), Origin(3, Version(2, 1)))),
    )
    assert first.joined(second) == second
    many = Ancestry(tuple(Origin(at, Version(at - 1, 1)) for at in range(2, 2 + REMEMBERED)))
    joined = many.joined(Ancestry((Origin(500, Version(101, 3)),)))
    assert len(joined.origins) == REMEMBERED
    assert joined.origins[0] == Origin(3, Version(2, 1))


def test_an_origin_that_is_no_earlier_one_ends_the_way() -> None:
    assert ages(Ancestry((Origin(2, Version(2, 5)),)), Version(2, 6), Version(1, 5)) == [UNRELATED]


@pytest.mark.parametrize("ancestry", [Ancestry(), Ancestry((Origin(2, Version(1, 4)), Origin(7, Version(2, 9))))])
def test_an_ancestry_is_what_it_was_after_it_was_saved(ancestry: Ancestry) -> None:
    assert Ancestry.of_state(ancestry.state_dict()) == ancestry
    assert Ancestry.of_lists(ancestry.as_lists()) == ancestry


@given(
    st.lists(st.tuples(st.integers(0, 100), st.integers(0, 40)), min_size=1, max_size=6),
    st.integers(0, 40),
    st.data(),
)
def test_an_age_is_the_way_through_the_tree_of_updates(
    parents: list[tuple[int, int]], number: int, data: st.DataObject
) -> None:
    """Each version is a node, an update an edge; the oracle walks from both sides to the first common node."""
    origins = tuple(Origin(at + 2, Version(1 + parent % (at + 1), n)) for at, (parent, n) in enumerate(parents))
    newest = Version(len(parents) + 1, number)
    acted = Version(data.draw(st.integers(1, len(parents) + 1)), data.draw(st.integers(0, 40)))
    if acted.generation == newest.generation:
        acted = Version(acted.generation, min(acted.number, number))
    parent_of = {origin.generation: origin.version for origin in origins}
    wanted = distance(chain(newest, parent_of), chain(acted, parent_of))
    assert ages(Ancestry(origins), newest, acted) == [wanted]


def chain(version: Version, parent_of: dict[int, Version]) -> list[Version]:
    """Returns a version and all that its weights came from, the newest first; number 0 is the version itself."""
    found: list[Version] = []
    while True:
        found += [Version(version.generation, number) for number in range(version.number, 0, -1)]
        if version.generation not in parent_of:
            return [*found, Version(version.generation, 0)]
        version = parent_of[version.generation]


def distance(first: list[Version], second: list[Version]) -> int:
    return next(at + second.index(version) for at, version in enumerate(first) if version in second)
