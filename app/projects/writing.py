"""Writes a project from a template: folders of files that lie over one another."""

import re
import sys
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from keyword import iskeyword
from pathlib import Path
from typing import Final, Literal, get_args

from app.errors import SparringError

Template = Literal["rl", "imitation", "imitation_rl", "league", "deploy"]

FOLDER: Final = Path(__file__).parent / "templates"
LAYERS: Final[Mapping[Template, tuple[str, ...]]] = {
    "rl": ("common", "rl"),
    "imitation": ("common", "imitation"),
    "imitation_rl": ("common", "rl", "imitation", "imitation_rl"),
    "league": ("common", "league"),
    "deploy": ("common", "deploy"),
}
"""Folders below ``FOLDER``; of files of the same name, that of the last one is written."""
GAME_WORD: Final = "mygame"
"""Stands for the project's name, in texts and in names of files."""
TEMPLATE_WORD: Final = "mytemplate"
"""Stands for the template's name."""
HIDDEN: Final = ("gitignore", "rayignore")
"""Files that get a dot in front: packages leave out what has one."""
PACKAGE: Final = re.compile(r"[a-z][a-z0-9_]*")
FOLDERS: Final = ("build", "configs", "cpp", "tests")
"""Names that a project has for something else."""


class ProjectError(SparringError):
    """A project cannot be written."""


def write_project(name: str, template: Template, folder: Path) -> list[Path]:
    """Writes a project into a new folder, and returns its files relative to it, sorted.

    Args:
      name: Of the project and its Python package.
      template: What it begins as.
      folder: Where; it may exist if it is empty.

    Raises:
      ProjectError: The name cannot be a package's, there is no such template, or the folder holds something or cannot
        be written.
    """
    if template not in LAYERS:
        raise ProjectError(f"template is {template!r}; allowed are {', '.join(get_args(Template))}")
    _check_folder(folder)
    _check_name(name)
    files = {path: text for layer in LAYERS[template] for path, text in _files(FOLDER / layer, name, template)}
    try:
        for path, text in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise ProjectError(f"{folder} cannot be written: {error.strerror}") from error
    return sorted(files)


def _files(layer: Path, name: str, template: str) -> Iterator[tuple[Path, str]]:
    """Yields path and text of each file of a layer, with the project's name."""
    for source in sorted(path for path in layer.rglob("*") if path.is_file() and "__pycache__" not in path.parts):
        path = Path(str(source.relative_to(layer)).replace(GAME_WORD, name))
        text = source.read_text(encoding="utf-8").replace(TEMPLATE_WORD, template).replace(GAME_WORD, name)
        yield path.with_name(f".{path.name}") if path.name in HIDDEN else path, text


def _check_folder(folder: Path) -> None:
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise ProjectError(f"{folder} is there already and not an empty folder; nothing was written, allowed: --into")


def _check_name(name: str) -> None:
    if not PACKAGE.fullmatch(name) or iskeyword(name):
        raise ProjectError(f"the name is {name!r}; allowed are small letters, digits and _, a letter first, no keyword")
    if name in FOLDERS or name in sys.stdlib_module_names or find_spec(name) is not None:
        raise ProjectError(f"the name {name!r} is that of an installed package, or of another folder of a project")
