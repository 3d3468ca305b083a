"""The content hash says whether weights are the same, and nothing else."""

import hashlib

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from app.models.content import content_hash
from app.types import Arrays

DTYPES = st.sampled_from([np.float32, np.float64, np.int64, np.int8, np.uint8, np.bool_, np.float16])
TENSORS = st.dictionaries(
    st.text(min_size=1, max_size=8),
    DTYPES.flatmap(lambda dtype: arrays(dtype, array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))),
    max_size=4,
)


def test_the_hash_of_one_tensor_is_that_of_its_description_and_its_bytes() -> None:
    text = b'["0123", [["w", "float32", [2]]]]'
    expected = hashlib.sha256(text + bytes.fromhex("0000803f00000040")).hexdigest()  # 1.0 and 2.0, little-endian.
    assert content_hash({"w": np.array([1, 2], np.float32)}, "0123") == expected


@given(TENSORS)
def test_order_of_names_order_of_bytes_and_layout_do_not_matter(tensors: Arrays) -> None:
    other = {name: array.astype(array.dtype.newbyteorder(">"), order="F") for name, array in reversed(tensors.items())}
    assert content_hash(other, "0123") == content_hash(tensors, "0123")


@given(TENSORS.filter(bool), st.data())
def test_every_dtype_shape_name_and_spec_matters(tensors: Arrays, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(tensors)))
    array = tensors[name]
    rest = {other: x for other, x in tensors.items() if other != name}
    wider = np.complex128 if array.dtype != np.complex128 else np.float32
    changed = [
        rest,
        {**rest, name: array.astype(wider)},
        {**rest, name: array[None]},
        {**rest, f"{name}x" * 9: array},
    ]
    hashes = {content_hash(other, "0123") for other in changed} | {content_hash(tensors, "4567")}
    assert len(hashes) == len(changed) + 1
    assert content_hash(tensors, "0123") not in hashes


@given(TENSORS.filter(lambda found: any(array.size for array in found.values())), st.data())
def test_every_value_matters(tensors: Arrays, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(name for name, array in tensors.items() if array.size)))
    spoilt = bytearray(tensors[name].tobytes())
    spoilt[data.draw(st.integers(0, len(spoilt) - 1))] ^= 1
    other = np.frombuffer(bytes(spoilt), tensors[name].dtype).reshape(tensors[name].shape)
    assert content_hash({**tensors, name: other}, "0123") != content_hash(tensors, "0123")


def test_the_border_between_two_tensors_matters() -> None:
    together = {"a": np.arange(3, dtype=np.uint8), "b": np.arange(3, 5, dtype=np.uint8)}
    moved = {"a": np.arange(2, dtype=np.uint8), "b": np.arange(2, 5, dtype=np.uint8)}
    assert content_hash(together, "") != content_hash(moved, "")
