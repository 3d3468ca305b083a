"""The index of clones: a forest, found by id and by hash."""

import re
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import CheckpointError
from app.models.lineage import Clone, Lineage


def clone(clone_id: str, parent: str | None = None, content: str = "", *, frozen: bool = True, at: int = 0) -> Clone:
    content = content or (clone_id * 64)[:64]
    return Clone(clone_id, content, "main", parent, "somewhere", 7, frozen, f"2026-01-01T00:00:{at:02d}+00:00")


@st.composite
def families(draw: st.DrawFn) -> list[Clone]:
    """Draws clones that were made one after another, each of nothing or of an earlier one, some with equal contents."""
    made: list[Clone] = []
    for number, content in enumerate(draw(st.lists(st.sampled_from("abc"), max_size=12))):
        parent = draw(st.sampled_from([None, *(other.id for other in made)]))
        new_id = Lineage(made).next_id(content * 64)
        made.append(clone(new_id, parent, content * 64, at=number))
    return draw(st.permutations(made))


@given(families())
def test_lineage_is_a_forest(clones: Sequence[Clone]) -> None:
    lineage = Lineage(clones)
    edges = sum(one.parent is not None for one in clones)
    assert len(lineage.roots()) == len(clones) - edges == len(lineage) - edges
    for one in clones:
        above = lineage.ancestors(one.id)
        assert one.id not in {other.id for other in above}
        assert not above or (above[-1] in lineage.roots() and one in lineage.children(above[0].id))
        assert [other.id for other in above[:1]] == ([] if one.parent is None else [one.parent])


@given(families())
def test_each_clone_is_the_child_of_its_parent_alone_and_found_by_its_id(clones: Sequence[Clone]) -> None:
    lineage = Lineage(clones)
    found = [child.id for one in clones for child in lineage.children(one.id)]
    assert sorted(found) == sorted(one.id for one in clones if one.parent is not None)
    assert all(lineage.find(one.id) == one for one in clones)


@given(families())
def test_ids_are_there_once_and_begin_with_their_content(clones: Sequence[Clone]) -> None:
    assert len({one.id for one in clones}) == len(clones)
    assert all(one.hash.startswith(one.id.partition("-")[0]) for one in clones)


@given(families())
def test_clones_come_oldest_first_however_they_are_given(clones: Sequence[Clone]) -> None:
    times = [one.created_at for one in Lineage(clones)]
    assert times == sorted(times)


def test_the_beginning_of_a_hash_finds_the_only_clone_of_it() -> None:
    first, second = clone("aa", content="abcd" + 60 * "0"), clone("ab", content="abef" + 60 * "0")
    assert Lineage([first, second]).find("abc") == first
    with pytest.raises(CheckpointError, match=r"'ab' may be any of the clones aa .*, ac .*; allowed is one whole id"):
        Lineage([first, replace(second, id="ac")]).find("ab")


def test_an_id_counts_before_the_hashes_that_begin_so() -> None:
    first, second = clone("ab", content="ab" * 32), clone("ab-2", "ab", content="ab" * 32)
    assert Lineage([first, second]).find("ab") == first


@pytest.mark.parametrize("text", ["ff", "", "aa-2"])
def test_an_unknown_id_names_what_is_there(text: str) -> None:
    lineage = Lineage([clone("aa"), clone("bb", frozen=False)])
    with pytest.raises(
        CheckpointError, match=re.escape(f"no clone {text!r}; there are aa (frozen, step 7), bb (train")
    ):
        lineage.find(text)
    with pytest.raises(CheckpointError, match="there are aa"):
        lineage.children(text)


def test_an_empty_pool_says_so() -> None:
    with pytest.raises(CheckpointError, match="there are no clones"):
        Lineage([]).find("aa")


def test_of_many_clones_the_newest_are_named() -> None:
    many = [clone(f"c{number:02d}", at=number) for number in range(25)]
    with pytest.raises(CheckpointError, match=r"there are c05 .* c24 .* and 5 older ones"):
        Lineage(many).find("ff")


def test_the_children_of_a_clone_that_is_gone_are_roots() -> None:
    lineage = Lineage([clone("aa", "gone"), clone("bb", "aa", at=1)])
    assert [root.id for root in lineage.roots()] == ["aa"]
    assert [above.id for above in lineage.ancestors("bb")] == ["aa"]


def test_a_clone_that_is_its_own_ancestor_is_refused() -> None:
    with pytest.raises(CheckpointError, match="is its own ancestor, by way of"):
        Lineage([clone("aa", "bb"), clone("bb", "cc"), clone("cc", "aa")])


def test_one_id_twice_is_refused() -> None:
    with pytest.raises(CheckpointError, match="two clones have the id aa"):
        Lineage([clone("aa"), clone("aa", at=1)])


def test_a_frozen_clone_of_the_same_is_known_and_a_trainable_one_is_not() -> None:
    content = "ab" * 32
    lineage = Lineage([clone("ab", content=content, frozen=False)])
    assert lineage.same(content, None, "somewhere") is None
    frozen = clone("ab-2", content=content)
    lineage = Lineage([frozen])
    assert lineage.same(content, None, "somewhere") == frozen
    assert lineage.same(content, "ab", "somewhere") is None
    assert lineage.same(content, None, "elsewhere") is None
