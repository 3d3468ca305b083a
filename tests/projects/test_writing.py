"""Projects that are written: what is in them, and what is refused."""

from pathlib import Path
from typing import get_args

import pytest

from app.config.files import read
from app.config.load import load
from app.projects.writing import FOLDER, LAYERS, ProjectError, Template, write_project

LINES = {"game.py": 40, "algorithm.py": 60}
"""Most lines with something in them, of a game and of an algorithm of one's own."""


@pytest.mark.parametrize("template", get_args(Template))
def test_a_project_has_its_name_everywhere_and_all_its_configs_load(template: Template, tmp_path: Path) -> None:
    files = write_project("orchard", template, tmp_path / "new")
    for path in files:
        text = (tmp_path / "new" / path).read_text(encoding="utf-8")
        assert "mygame" not in f"{path}{text}"
        assert "mytemplate" not in text
    names = {str(path) for path in files}
    assert {"README.md", "Makefile", "pyproject.toml", ".gitignore", "orchard/game.py", "cpp/game_core.cpp"} <= names
    configs = sorted((tmp_path / "new" / "configs").glob("*.yaml"))
    assert {path.stem for path in configs} >= {"base", "deploy", template}
    for path in configs:
        assert load(path).run.project == "orchard"


@pytest.mark.parametrize("template", get_args(Template))
def test_its_python_compiles_and_is_short(template: Template, tmp_path: Path) -> None:
    for path in write_project("orchard", template, tmp_path):
        text = (tmp_path / path).read_text(encoding="utf-8")
        if path.suffix == ".py":
            compile(text, str(path), "exec")
            written = sum(bool(line.strip()) for line in text.splitlines())
            assert written <= LINES.get(path.name, 60), path


def test_every_file_of_the_templates_belongs_to_one(tmp_path: Path) -> None:
    used = {layer for layers in LAYERS.values() for layer in layers}
    assert {path.name for path in FOLDER.iterdir() if path.is_dir()} == used
    assert read(FOLDER / "common" / "serve_config.yaml")["applications"]


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("kept")
    with pytest.raises(ProjectError, match="is there already and not an empty folder"):
        write_project("orchard", "rl", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


@pytest.mark.parametrize("name", ["Orchard", "two words", "1st", "class", "train", "app", "json", "numpy", "tests", ""])
def test_a_name_that_would_hide_something_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ProjectError, match="the name"):
        write_project(name, "rl", tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_an_unknown_template_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ProjectError, match="allowed are rl, imitation, imitation_rl, league, deploy"):
        write_project("orchard", "chess", tmp_path / "new")  # type: ignore[arg-type]


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ProjectError, match="cannot be written"):
        write_project("orchard", "rl", tmp_path / "file" / "new")


def test_no_file_of_a_template_is_hidden_since_packages_leave_those_out() -> None:
    assert not [path for path in FOLDER.rglob("*") if path.name.startswith(".")]
