import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import TreeError
from app.wire.trees import pack, unpack

leaves = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5) | st.binary(max_size=9)
)
trees = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(trees)
def test_a_tree_comes_back_as_it_was_types_included(tree: Any) -> None:
    got = unpack(pack(tree))
    assert got == tree
    assert repr(got) == repr(tree)  # 1, 1.0 and True are equal, but not the same.


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "uint16", "int64", "bool", ">f4", "complex64"])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 3), (2, 3)])
def test_an_array_comes_back_with_its_dtype_and_shape(dtype: str, shape: tuple[int, ...]) -> None:
    array = np.arange(math.prod(shape)).reshape(shape).astype(dtype)
    got = unpack(pack({"odd": b"1", "array": array, "again": [array.T]}))
    assert isinstance(got, dict)
    np.testing.assert_array_equal(got["array"], array)  # type: ignore[arg-type]
    assert got["array"].dtype == array.dtype  # type: ignore[union-attr]
    np.testing.assert_array_equal(got["again"][0], array.T)  # type: ignore[index, arg-type, call-overload]


def test_numbers_beyond_json_come_back() -> None:
    got = unpack(pack([math.inf, -math.inf, math.nan, 2**80, -(2**70)]))
    assert isinstance(got, list)
    assert got[:2] + got[3:] == [math.inf, -math.inf, 2**80, -(2**70)]
    assert math.isnan(got[2])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"a": [1, {2, 3}]}, r"a\[1\] is a set"),
        ({"a": {1: 2}}, "a is a dict"),
        (object(), "the value is a object"),
        ({"names": np.array(["x"])}, "names is an array of <U1"),
        ({"o": np.array([None])}, "o is an array of object"),
    ],
)
def test_what_cannot_be_written_is_named_with_its_place(value: Any, message: str) -> None:
    with pytest.raises(TreeError, match=message):
        pack(value)


@given(st.binary(max_size=60))
def test_any_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(TreeError):
        unpack(data)


@given(trees, st.data())
def test_cut_bytes_are_refused_or_whole(tree: Any, data: st.DataObject) -> None:
    whole = pack({"tree": tree, "end": b"12"})
    with pytest.raises(TreeError):
        unpack(whole[: data.draw(st.integers(0, len(whole) - 1))])


def test_another_version_of_the_layout_says_so() -> None:
    other = pack(1).replace(b'"schema_version":1', b'"schema_version":9')
    with pytest.raises(TreeError, match="packed by schema_version 9; this service reads 1"):
        unpack(other)
