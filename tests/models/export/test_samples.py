from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from app.errors import ExportError
from app.models.export.samples import random_samples, read_samples
from app.models.module import spec_of
from tests.models.export.networks import NestedPolicy, seeded

SPEC = spec_of(seeded(NestedPolicy))
COLUMNS = {
    "observation/board": np.ones((4, 2, 3)),
    "observation/units/0": np.ones((4, 2), np.int32),
    "observation/units/1": np.ones((4, 3), bool),
    "action_mask/move": np.array([[True, False, True]] * 4),
}


def test_recorded_rows_are_read_from_both_kinds_of_file(tmp_path: Path) -> None:
    np.savez(tmp_path / "rows.npz", **COLUMNS)
    save_file(COLUMNS, tmp_path / "rows.safetensors")
    for name in ("rows.npz", "rows.safetensors"):
        read = read_samples(tmp_path / name, SPEC)
        assert (read.rows, read.recorded) == (4, True)
        assert [leaf.dtype.name for leaf in read.inputs] == ["float32", "int64", "bool"]
        assert not any(leaf.any() for leaf in read.states)  # Without a state each row begins a game.
        assert read.masks[0] is not None
        assert read.masks[1] is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"observation/board": np.ones((4, 3, 3))}, r"observation/board of shape \(4, 3, 3\)"),
        ({"observation/units/0": np.ones((4, 2))}, "of dtype float64; the model takes int64"),
        ({"observation/units/1": np.ones((3, 3), bool)}, r"leaves of \[4, 4, 3\] rows"),
        ({"state/hidden": np.ones((2, 4))}, r"state/hidden of shape \(2, 4\)"),
    ],
)
def test_rows_that_do_not_fit_are_refused(tmp_path: Path, change: dict[str, np.ndarray], message: str) -> None:
    np.savez(tmp_path / "rows.npz", **(COLUMNS | change))
    with pytest.raises(ExportError, match=message):
        read_samples(tmp_path / "rows.npz", SPEC)


def test_a_missing_leaf_and_a_file_of_another_kind_are_named(tmp_path: Path) -> None:
    np.savez(tmp_path / "rows.npz", other=np.ones(3))
    with pytest.raises(ExportError, match=r"has no array observation/board; it has other"):
        read_samples(tmp_path / "rows.npz", SPEC)
    for name in ("bad.npz", "bad.safetensors", "none.npz"):
        if name != "none.npz":
            (tmp_path / name).write_bytes(b"nothing of use")
        with pytest.raises(ExportError, match="holds no observations"):
            read_samples(tmp_path / name, SPEC)


def test_random_rows_are_random_in_the_state_too_and_follow_from_the_seed() -> None:
    first, again, other = (random_samples(SPEC, 20, seed) for seed in (1, 1, 2))
    assert first.states[0].std() > 0.5
    np.testing.assert_array_equal(first.inputs[0], again.inputs[0])
    assert not np.array_equal(first.inputs[0], other.inputs[0])
    assert set(np.unique(first.inputs[1])) == {0, 1}
