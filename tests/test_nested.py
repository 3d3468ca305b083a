from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.nested import Structure

names = st.text(st.characters(exclude_characters="/"), min_size=1, max_size=4)
nested = st.recursive(
    st.integers(),
    lambda below: (
        st.dictionaries(names, below, min_size=1, max_size=3) | st.lists(below, min_size=1, max_size=3).map(tuple)
    ),
    max_leaves=8,
)


@given(nested)
def test_the_leaves_of_a_value_make_it_again(value: Any) -> None:
    structure = Structure(value)
    assert structure.unflatten(structure.flatten(value)) == value
    assert list(structure.leaves) == structure.flatten(value)
    assert len(structure) == len(structure.leaves) == len(structure.paths)


@given(nested)
def test_each_leaf_has_a_path_of_its_own_that_leads_to_it(value: Any) -> None:
    structure = Structure(value)
    assert len(set(structure.paths)) == len(structure)
    for path, leaf in zip(structure.paths, structure.leaves, strict=True):
        found = value
        for key in path.split("/") if path else []:
            found = found[int(key)] if isinstance(found, tuple) else found[key]
        assert found is leaf


@given(st.dictionaries(names, st.integers(), min_size=2, max_size=4))
def test_the_order_of_keys_does_not_matter(value: dict[str, int]) -> None:
    other = dict(reversed(value.items()))
    assert Structure(value).paths == Structure(other).paths
    assert Structure(value).flatten(other) == Structure(value).flatten(value)


def test_columns_are_named_after_the_paths() -> None:
    assert Structure({"b": (1, 2), "a": 3}).columns("state") == ("state/a", "state/b/0", "state/b/1")
    assert Structure(7).columns("state") == ("state",)
    assert Structure(None).columns("state") == ()


@pytest.mark.parametrize("other", [{"a": 1}, {"a": 1, "b": 2, "c": 3}, (1, 2), 5])
def test_a_value_of_another_structure_is_refused(other: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        Structure({"a": 1, "b": 2}).flatten(other)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"a": [1, 2]}, "a is a list; allowed are dicts and tuples"),
        ([1], "the value is a list"),
        ({"a/b": 1}, "has the key 'a/b'; allowed is text without a slash"),
        ({"": 1}, "has the key ''"),
        (({3: 1},), "0 has the key 3"),
    ],
)
def test_what_has_no_path_is_refused(value: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Structure(value)
