"""numpy archives."""

from pathlib import Path

import numpy as np
import pytest

from app.errors import SourceError
from app.sources.formats.npz import NpzShard

from .rows import assert_equal, expected, read, table


def test_a_row_is_a_step(tmp_path: Path) -> None:
    np.savez(tmp_path / "demos.npz", **table())  # type: ignore[arg-type]
    assert_equal(read(NpzShard(tmp_path / "demos.npz", {})), expected())


def test_pickles_are_not_read(tmp_path: Path) -> None:
    np.savez(tmp_path / "demos.npz", reward=np.array([{}], object))
    with pytest.raises(SourceError, match=r"demos\.npz: .*allow_pickle.*allowed is a numpy archive"):
        list(NpzShard(tmp_path / "demos.npz", {}))
    (tmp_path / "broken.npz").write_bytes(b"PK\x03\x04nonsense")
    with pytest.raises(SourceError, match=r"broken\.npz"):
        list(NpzShard(tmp_path / "broken.npz", {}))
