"""What a soak keeps in its folder, and that it takes no other folder for its own."""

from pathlib import Path

import pytest

from tests.soak.state import State, clear, read_state


def test_a_soak_goes_on_from_what_was_written(tmp_path: Path) -> None:
    written = State(3, 60.0, done_s=12.5, starts=2)
    written.ledger.fail("lost", "game 1")
    written.write(tmp_path)
    read = read_state(tmp_path, 3, 60.0)
    assert (read.done_s, read.starts, read.ledger.counts["lost"]) == (12.5, 2, 1)
    with pytest.raises(ValueError, match="allowed is the same, or no --resume"):
        read_state(tmp_path, 4, 60.0)


def test_only_a_soaks_folder_is_removed(tmp_path: Path) -> None:
    ours = tmp_path / "soak"
    State(1, 60.0).write(ours)
    (ours / "home").mkdir()
    clear(ours)
    assert not ours.exists()
    clear(ours)
    (tmp_path / "thesis.md").touch()
    with pytest.raises(ValueError, match=r"is no soak's folder, it holds thesis\.md"):
        clear(tmp_path)
    assert (tmp_path / "thesis.md").exists()
