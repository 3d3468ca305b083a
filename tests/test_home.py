from pathlib import Path

import pytest

from app import home
from app.errors import ConfigError


def test_files_lie_in_the_home_folder_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARRING_HOME", raising=False)
    monkeypatch.setenv("HOME", "/home/someone")
    assert home.trial_root("cartpole", "first") == Path("/home/someone/.sparring/cartpole/first")


def test_the_environment_variable_moves_everything_and_a_relative_one_becomes_absolute(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SPARRING_HOME", "here")
    assert home.state_root("cartpole") == tmp_path / "here" / "cartpole"


def test_each_start_has_its_tensorboard_folder_and_names_sort_by_time() -> None:
    early, late = (home.tensorboard_folder(Path("/state"), start_s) for start_s in (1_000_000_000.0, 1_000_000_001.5))
    assert early == Path("/state/tensorboard/20010909-014640")
    assert early < late


@pytest.mark.parametrize("name", ["", ".", "..", "a/b"])
def test_a_name_that_leaves_its_folder_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="one plain name"):
        home.state_root(name)
    with pytest.raises(ConfigError, match="one plain name"):
        home.trial_root("project", name)


def test_ensure_creates_parents_and_may_be_repeated(tmp_path: Path) -> None:
    assert home.ensure(home.ensure(tmp_path / "a" / "b")).is_dir()


def test_a_folder_that_cannot_be_created_names_itself_and_the_variable(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match=r"file/below.*SPARRING_HOME"):
        home.ensure(tmp_path / "file" / "below")
