"""Parquet tables, as pandas, Arrow and Ray Data write them."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from app.errors import SourceError
from app.sources.formats import parquet as parquet_files
from app.sources.formats.parquet import ParquetShard

from .rows import assert_equal, expected, read, table


def tensors(array: Any) -> pa.Array:
    return pa.FixedShapeTensorArray.from_numpy_ndarray(np.ascontiguousarray(array))


def lists(array: Any) -> pa.Array:
    return pa.array(array.tolist())


def ray_tensors(array: Any) -> tuple[pa.Field, pa.Array]:
    """Returns a column as a reader sees that of Ray Data where Ray's types are not registered."""
    metadata = {"ARROW:extension:name": "ray.data.arrow_tensor_v2", "ARROW:extension:metadata": str([*array.shape[1:]])}
    column = pa.array(array.reshape(len(array), -1).tolist())
    return pa.field("", column.type, metadata=metadata), column


@pytest.mark.parametrize("write", [tensors, lists])
def test_a_row_is_a_step(tmp_path: Path, write: Any) -> None:
    columns = {name: write(column) if column.ndim > 1 else column for name, column in table().items()}
    parquet.write_table(pa.table(columns), tmp_path / "demos.parquet")
    assert_equal(read(ParquetShard(tmp_path / "demos.parquet", {})), expected())


def test_episodes_go_on_over_the_pieces_that_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_files, "ROWS_AT_ONCE", 2)
    columns = {name: lists(column) for name, column in table().items()}
    parquet.write_table(pa.table(columns), tmp_path / "demos.parquet")
    assert_equal(read(ParquetShard(tmp_path / "demos.parquet", {})), expected())


def test_tensors_of_ray_data_and_structures_are_read(tmp_path: Path) -> None:
    images = np.arange(24, dtype=np.float64).reshape(2, 2, 3, 2)
    field, column = ray_tensors(images)
    units = pa.StructArray.from_arrays([pa.array([1.0, 2.0]), pa.array([[1], [2]])], ["hp", "at"])
    schema = pa.schema([field.with_name("image"), pa.field("units", units.type), pa.field("episode", pa.string())])
    parts = pa.table([column, units, pa.array(["a", "b"])], schema=schema)
    parquet.write_table(parts, tmp_path / "demos.parquet")
    first, second = ParquetShard(tmp_path / "demos.parquet", {"observation": "units"})
    np.testing.assert_array_equal(first.columns["image"], images[:1])
    assert second.columns["observation/hp"].tolist() == [2]
    assert second.columns["observation/at"].tolist() == [[2]]


def test_what_is_no_table_of_numbers_is_named(tmp_path: Path) -> None:
    path = tmp_path / "demos.parquet"
    path.write_bytes(b"PAR1")
    with pytest.raises(SourceError, match=r"demos\.parquet: .*allowed is a Parquet file"):
        list(ParquetShard(path, {}))
    parquet.write_table(pa.table({"reward": [1.0, None], "observation": [[1], [1]], "terminated": [False, True]}), path)
    with pytest.raises(SourceError, match="reward has 1 gaps"):
        list(ParquetShard(path, {}))
    parquet.write_table(pa.table({"observation": [[1], [1, 2]], "terminated": [False, True]}), path)
    with pytest.raises(SourceError, match="observation has lists of several lengths"):
        list(ParquetShard(path, {}))
