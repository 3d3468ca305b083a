"""HDF5 files in Minari's layout."""

from pathlib import Path

import h5py
import numpy as np
import pytest

from app.errors import SourceError
from app.sources.fitting import fields_of
from app.sources.formats.minari import FIELDS, MinariShard
from app.sources.trajectory import trajectory
from tests.sources.made import NESTED, episode

from .rows import assert_equal, expected, read


def test_a_group_is_an_episode_and_numbers_count_not_names(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "main_data.hdf5", "w") as file:
        for number, each in [(2, episode(3, 0)), (10, episode(1, 1, terminated=False))]:
            group = file.create_group(f"episode_{number}")
            for name, column in each.items():
                group[FIELDS[name]] = column
            group["infos/note"] = np.array([b"x"])
    assert_equal(read(MinariShard(tmp_path / "main_data.hdf5", {})), expected())


def test_nested_observations_are_groups(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "main_data.hdf5", "w") as file:
        group = file.create_group("episode_0")
        group["observations/map"] = np.ones((2, 2, 3, 1), np.uint8)
        group["observations/units/_index_0"] = np.array([[1.0, 2], [3, 4]])
        group["observations/units/_index_1"] = np.array([5.0, 6])
        group["actions/move"], group["actions/push"] = np.array([3]), np.array([[0.5, -0.5]])
        group["rewards"], group["terminations"] = np.array([1.0]), np.array([True])
        group["truncations"] = np.array([False])
    (stored,) = MinariShard(tmp_path / "main_data.hdf5", {})
    rows = trajectory(stored, fields_of(NESTED), 0)
    assert rows is not None
    assert rows["observation/units/0"].tolist() == [[1, 2], [3, 4]]
    assert rows["action/move"].tolist() == [3, 3]


def test_another_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.hdf5").write_bytes(b"no")
    with pytest.raises(SourceError, match=r"x\.hdf5: .*allowed is an HDF5 file of Minari"):
        list(MinariShard(tmp_path / "x.hdf5", {}))
    with h5py.File(tmp_path / "y.hdf5", "w") as file:
        file["data"] = np.ones(1)
    with pytest.raises(SourceError, match="got data; allowed are episode_0"):
        list(MinariShard(tmp_path / "y.hdf5", {}))
