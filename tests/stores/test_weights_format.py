from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as stn
from safetensors.numpy import load

from app.stores.weights_format import PART_BYTES, WeightsFile, WeightsMeta, size_of
from app.types import Arrays, Version

META = WeightsMeta("0123", Version(2, 7), "abc", Version(2, 6), 1_700_000_000.25)
DTYPES = st.sampled_from(["bool", "uint8", "int16", "int32", "int64", "float16", "float32", "float64"])
ARRAYS = st.dictionaries(
    st.text(max_size=8), DTYPES.flatmap(lambda dtype: stn.arrays(dtype, stn.array_shapes(min_dims=0, min_side=0))),
    max_size=5,
)  # fmt: skip


def bytes_of(arrays: Arrays) -> bytes:
    return b"".join(WeightsFile(arrays, META).parts())


@settings(deadline=None, max_examples=30)
@given(ARRAYS.filter(lambda arrays: "__metadata__" not in arrays))
def test_the_library_reads_back_what_was_laid_out(arrays: Arrays) -> None:
    whole = bytes_of(arrays)
    found = load(whole)
    assert found.keys() == arrays.keys()
    for name, array in arrays.items():
        assert (found[name].dtype, found[name].shape) == (array.dtype, array.shape)
        assert found[name].tobytes() == array.tobytes()
    assert WeightsFile(arrays, META).size_bytes == len(whole)


def test_the_parts_are_small_views_of_the_arrays() -> None:
    large = np.arange(PART_BYTES, dtype=np.float32)
    head, *parts = WeightsFile({"large": large}, META).parts()
    assert len(head) < 1000
    assert [len(part) for part in parts] == [PART_BYTES] * 4
    assert isinstance(parts[0], memoryview)
    large[0] = 7
    assert np.frombuffer(parts[0], np.float32)[0] == 7


def test_arrays_in_another_order_or_byte_order_become_plain() -> None:
    odd = np.arange(6, dtype=">f4").reshape(2, 3).T
    assert np.array_equal(load(bytes_of({"x": odd}))["x"], [[0, 3], [1, 4], [2, 5]])


def test_a_dtype_that_no_file_holds_is_named() -> None:
    with pytest.raises(ValueError, match=r"x is complex64; safetensors holds bool, uint8"):
        WeightsFile({"x": np.zeros(1, np.complex64)}, META)


@pytest.mark.parametrize("meta", [META, WeightsMeta("", Version(0, 0), "", None, 0.1)])
def test_metadata_are_read_as_they_were_written(meta: WeightsMeta) -> None:
    assert WeightsMeta.parse(meta.as_text()) == meta


@pytest.mark.parametrize(
    ("changed", "message"),
    [({"schema_version": "9"}, "schema_version is '9', allowed is 1"), ({"version": "x"}, "such as 1.57; got 'x'")],
)
def test_metadata_of_another_schema_are_refused(changed: Mapping[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        WeightsMeta.parse({**META.as_text(), **changed})


def test_the_size_is_that_of_all_arrays() -> None:
    assert size_of({"a": np.zeros((2, 3), np.float32), "b": np.ones(3, np.int64)}) == 48
