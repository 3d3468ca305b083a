"""Import paths of user code."""

from pathlib import Path

import pytest

from app.errors import PluginError
from app.plugins import find_plugin, load_plugin


def test_a_path_names_an_object() -> None:
    assert load_plugin("app.plugins:load_plugin") is load_plugin


@pytest.mark.parametrize(
    "path", ["app.plugins", "app.plugins:", ":load_plugin", ".plugins:x", "app..plugins:x", "a b:c", ""]
)
def test_what_is_no_path_is_refused(path: str) -> None:
    with pytest.raises(PluginError, match=r"write it as package\.module:name"):
        load_plugin(path)


def test_a_missing_module_is_named() -> None:
    with pytest.raises(PluginError, match=r"cannot import 'app\.nowhere' for 'app\.nowhere:x'"):
        load_plugin("app.nowhere:x")


def test_a_missing_name_tells_which_there_are() -> None:
    with pytest.raises(PluginError, match=r"has no 'load_plugins'; it has .*load_plugin"):
        load_plugin("app.plugins:load_plugins")


def test_a_module_with_a_syntax_error_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "half_written_game.py").write_text("def build(:")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(PluginError, match="cannot import 'half_written_game'"):
        load_plugin("half_written_game:build")


def test_a_module_is_found_without_being_imported() -> None:
    find_plugin("app.games.cartpole.model:build")


@pytest.mark.parametrize("path", ["app.games.chess.model:build", "no_such_package.model:build"])
def test_a_module_that_does_not_exist_is_named(path: str) -> None:
    with pytest.raises(PluginError, match=f"cannot import '{path.partition(':')[0]}'"):
        find_plugin(path)
