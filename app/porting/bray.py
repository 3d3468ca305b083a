"""From a template of Bray, such as its ``template/config.yaml``, to a config of ours."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.config.files import Tree, parse
from app.config.load import checked
from app.errors import ConfigError
from app.porting.bray_actors import convert_actor
from app.porting.bray_file import BrayFile, snake
from app.porting.bray_parts import convert_agent, convert_buffer, convert_model, convert_render, convert_source
from app.porting.bray_trainers import convert_trainer
from app.porting.lines import Line, Section, put

Convert = Callable[[BrayFile, Section, Tree], None]

CONVERTERS: Final[dict[str, Convert]] = {
    "model": convert_model,
    "source": convert_source,
    "buffer": convert_buffer,
    "agent": convert_agent,
    "trainer": convert_trainer,
    "actor": convert_actor,  # After agents and trainers, which it refers to.
    "render": convert_render,
}


ORDER: Final[tuple[str, ...]] = (
    "run", "models", "agents", "actors", "buffers", "sources", "trainers", "tracking", "vars",
)  # fmt: skip
"""Of the sections in what is written."""


@dataclass(frozen=True, slots=True)
class Ported:
    """A converted config."""

    tree: Tree
    """Fits our schema."""
    lines: tuple[Line, ...]
    """What became of each key, in the order of the kinds."""


def port_bray(path: Path) -> Ported:
    """Returns a template of Bray as a config of ours.

    Raises:
      ConfigError: It cannot be read, is no such template, or a value has the wrong type.
    """
    try:
        values = parse(path.read_text(encoding="utf-8"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from error
    if not isinstance(values, dict):
        raise ConfigError(f"{path}: must hold a mapping of sections, got {type(values).__name__}")
    file, tree = BrayFile(values, str(path)), Tree()
    _convert_top(file, tree)
    for kind, convert in CONVERTERS.items():
        for section in file.of_kind(kind):
            _convert_section(file, kind, section, tree, convert)
    for section in file.of_kind("config"):
        _convert_config(file, section, tree)
    ordered = {name: tree[name] for name in ORDER if name in tree}
    checked(ordered, (), path)
    return Ported(ordered, tuple(file.lines))


def _convert_section(file: BrayFile, kind: str, section: Section, tree: Tree, convert: Convert) -> None:
    """Converts a section, and says of each key what became of it."""
    why = f"nothing of Bray's reads this key of a {kind}"
    if section.get("enable") is False:
        why = "enable is false: the section is left out"
    else:
        convert(file, section, tree)
    for key, _ in section.rest():
        section.tell(key, "", why)


def _convert_top(file: BrayFile, tree: Tree) -> None:
    top = file.top
    put(tree, "run.project", snake(str(top.get("project")).rstrip("/").rpartition("/")[2]))
    top.tell("project", "run.project", "a name; files lie below SPARRING_HOME")
    put(tree, "run.trial", snake(str(top.get("trial"))))
    top.tell("trial", "run.trial")
    mode = top.get("mode")
    put(tree, "run.mode", mode if mode in ("train", "deploy") else "train")
    top.tell("mode", "run.mode", "" if mode in ("train", "deploy") else "train, the default")
    top.tell("dump_state", "agents.<name>.record", "as episode_save_interval of the actor says")
    for key, value in top.rest():
        _put_var(tree, snake(key), value)
        top.tell(key, f"vars.{snake(key)}", "for ${vars.name}")


def _convert_config(file: BrayFile, section: Section, tree: Tree) -> None:
    """Converts values that code reads: they become ``vars``, and arguments of all models."""
    section.tell("kind", "vars")
    for key, value in section.rest():
        name = f"{file.names[section.name]}_{snake(key)}"
        if not _put_var(tree, name, value):
            section.tell(key, "", "vars hold numbers, text and lists of whole numbers; write it into kwargs")
            continue
        section.tell(key, f"vars.{name}", f"name it in kwargs of a model or agent: ${{vars.{name}}}")


def _put_var(tree: Tree, name: str, value: object) -> bool:
    """Puts a value under ``vars``; returns whether it may stand there."""
    is_list = isinstance(value, list) and all(isinstance(item, int) for item in value)
    if not (is_list or isinstance(value, int | float | str)):
        return False
    put(tree, f"vars.{name}", value)
    return True
