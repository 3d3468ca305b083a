import copy
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.wire.merge_patch import difference, merge_patch


@pytest.mark.parametrize(
    ("target", "patch", "result"),
    [  # RFC 7396, appendix A.
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "b"}, ["c"], ["c"]),
        ({"a": "foo"}, None, None),
        ({"a": "foo"}, "bar", "bar"),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_the_examples_of_the_rfc(target: Any, patch: Any, result: Any) -> None:
    assert merge_patch(target, patch) == result


def test_the_example_in_the_text_of_the_rfc() -> None:
    document = {
        "title": "Goodbye!",
        "author": {"givenName": "John", "familyName": "Doe"},
        "tags": ["example", "sample"],
        "content": "This will be unchanged",
    }
    patch = {
        "title": "Hello!",
        "phoneNumber": "+01-123-456-7890",
        "author": {"familyName": None},
        "tags": ["example"],
    }
    assert merge_patch(document, patch) == {
        "title": "Hello!",
        "author": {"givenName": "John"},
        "tags": ["example"],
        "content": "This will be unchanged",
        "phoneNumber": "+01-123-456-7890",
    }


def test_any_depth_that_can_be_parsed_can_be_merged() -> None:
    depth = 1000
    deep = orjson.loads('{"a":' * depth + "1" + "}" * depth)
    merged = merge_patch(deep, orjson.loads('{"a":' * depth + "2" + "}" * depth))
    for _ in range(depth):
        merged = merged["a"]  # type: ignore[index, call-overload]
    assert merged == 2


@pytest.mark.parametrize(("old", "new"), [(1, True), (1, 1.0), ([1], [1.0]), ({"b": [0]}, {"b": [False]})])
def test_values_that_python_takes_for_equal_differ_in_json(old: Any, new: Any) -> None:
    assert orjson.dumps(merge_patch({"a": old}, difference({"a": old}, {"a": new}))) == orjson.dumps({"a": new})


def test_a_difference_holds_only_what_differs() -> None:
    old = {"same": {"deep": [1, 2]}, "moved": {"x": 1, "y": 2}, "gone": 0, "null": None}
    new = {"same": {"deep": [1, 2]}, "moved": {"x": 1, "y": 3}, "born": {"z": {}}, "null": None}
    assert difference(old, new) == {"moved": {"y": 3}, "gone": None, "born": {"z": {}}}
    assert difference(old, old) == {}


@pytest.mark.parametrize("new", [{"a": None}, {"a": {"b": None}}, {"c": {"d": {"e": None}}}])
def test_a_member_that_becomes_null_cannot_be_said(new: Any) -> None:
    with pytest.raises(ValueError, match="becomes null, which a merge patch cannot say; send the whole value"):
        difference({"a": 1}, new)


scalars = st.booleans() | st.integers(-3, 3) | st.floats(-1, 1) | st.text("ab", max_size=2)
names = st.sampled_from("abc")
with_null = st.recursive(
    scalars | st.none(), lambda x: st.lists(x, max_size=3) | st.dictionaries(names, x, max_size=3), max_leaves=12
)
without_null = st.recursive(
    scalars, lambda x: st.lists(x | st.none(), max_size=3) | st.dictionaries(names, x, max_size=3), max_leaves=12
)


@given(with_null, without_null)
def test_a_difference_leads_from_any_value_to_any_without_null_members(old: Any, new: Any) -> None:
    if new is not None:
        got = merge_patch(old, difference(old, new))
        options = orjson.OPT_SORT_KEYS
        assert orjson.dumps(got, option=options) == orjson.dumps(new, option=options)


@given(with_null, with_null)
def test_merging_changes_neither_argument_and_once_is_as_good_as_twice(target: Any, patch: Any) -> None:
    before = copy.deepcopy((target, patch))
    merged = merge_patch(target, patch)
    assert (target, patch) == before
    again = merge_patch(merged, patch)
    assert again == merged


def _by_the_rfc(target: Any, patch: Any) -> Any:
    """The pseudocode of RFC 7396, section 2, line by line."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = _by_the_rfc(result.get(name), value)
    return result


@given(with_null, with_null)
def test_merging_is_what_the_pseudocode_of_the_rfc_says(target: Any, patch: Any) -> None:
    assert merge_patch(target, patch) == _by_the_rfc(target, patch)
