"""No block of the documentation names a command, option, file, config key or name that is not there.

What runs them is the tests of each page; this holds for all, those that take hours or a cluster included.
"""

import importlib.util
import json
import re
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import typer
import yaml
from typer.main import get_command

from app.command_line import GROUP, build
from app.config.load import load

from .blocks import SHELL, Fenced, blocks, commands, pages, unknown_names
from .readme import ROOT

OWN_FILE = re.compile(r"(?<![\w./-])(?:configs|tests|app|train|docs|deployments)/[\w./-]+\.\w+")
FENCE_LINE = re.compile(r"^\s*(?:```|~~~)", re.MULTILINE)
TARGET = re.compile(r"^([a-z-]+):", re.MULTILINE)
FOLDERS = (ROOT, *(ROOT / "app" / "projects" / "templates").iterdir())
"""Where a reader's files are: this project, and those that ``sparring new`` makes."""
UNCHECKED = {"extends", "vars"}
"""Keys of a config that are gone before it is checked."""
LANGUAGES = {"bash", "sh", "text", "yaml", "json", "python", "cpp", "cmake", "diff"}


def of(*languages: str) -> Any:
    found = blocks(*languages)
    assert found
    return pytest.mark.parametrize("block", found, ids=[f"{block.page}:{block.line}" for block in found])


@cache
def partial() -> Any:
    """Returns what checks a part of a config: nothing in its schema is required."""
    schema = json.loads((ROOT / "configs" / "schema.json").read_text(encoding="utf-8"))
    without_required(schema)
    return jsonschema.Draft202012Validator(schema)


def without_required(part: Any) -> None:
    if isinstance(part, dict):
        part.pop("required", None)
        for value in part.values():
            without_required(value)
    elif isinstance(part, list):
        for value in part:
            without_required(value)


@cache
def targets() -> set[str]:
    """Returns what make can be asked for, here and in a project of the reader's."""
    files = (folder / name for folder in FOLDERS for name in ("Makefile", "Makefile.tmpl"))
    return {found for file in files if file.exists() for found in TARGET.findall(file.read_text(encoding="utf-8"))}


@cache
def written(page: str) -> set[str]:
    """Returns the files that a page has its reader write: their names are the first lines of blocks."""
    first = (block.text.partition("\n")[0].split() for block in blocks() if block.page == page)
    return {words[1] for words in first if len(words) == 2 and words[0] in {"#", "//"}}


def test_each_block_says_what_it_is() -> None:
    assert [block for block in blocks() if block.language not in LANGUAGES] == []


def test_no_fence_is_overlooked() -> None:
    for path in pages():
        fences = len(FENCE_LINE.findall(path.read_text(encoding="utf-8")))
        found = [block for block in blocks() if block.page == str(path.relative_to(ROOT))]
        assert fences == 2 * len(found), path


@of(*SHELL)
def test_a_command_takes_the_options_that_it_is_given(block: Fenced) -> None:
    for words in commands(block):
        if words[0] == "sparring":
            check_sparring(words[1:])
        elif words[0] == "make":
            assert {word for word in words[1:] if "=" not in word} <= targets(), words
        elif words[:2] == ["python", "-m"] and words[2].partition(".")[0] in {"app", "train", "tests"}:
            assert importlib.util.find_spec(words[2]) is not None, words


@of(*SHELL)
def test_a_file_of_the_project_that_a_command_names_is_there(block: Fenced) -> None:
    for words in commands(block):
        for path in OWN_FILE.findall(" ".join(words)):
            assert any((folder / path).exists() for folder in FOLDERS) or path in written(block.page), path


@of("python")
def test_python_is_valid_and_imports_what_is_there(block: Fenced) -> None:
    assert unknown_names(block.text) == []


@of("json")
def test_json_is_valid(block: Fenced) -> None:
    json.loads(block.text)


@of("yaml")
def test_yaml_has_keys_that_configs_have(block: Fenced) -> None:
    found = yaml.safe_load(block.text)
    if isinstance(found, dict) and set(found) <= {*partial().schema["properties"], *UNCHECKED}:
        partial().validate({key: value for key, value in found.items() if key not in UNCHECKED})


def check_sparring(words: list[str]) -> None:
    """Raises where a command or an option of it does not exist, or a config with what is set is refused."""
    entries = {entry.name: entry for entry in entry_points(group=GROUP)}
    command: Any = get_command(build(entries, words))
    names = []
    while hasattr(command, "commands"):
        name = words[len(names)]
        assert name in command.commands, words
        names.append(name)
        command = command.commands[name]
    given = words[len(names) :]
    try:
        command.make_context(names[-1], list(given))
    except typer.BadParameter as error:
        if "does not exist" not in str(error):  # A file that the reader has, and we have not, is right.
            raise
        command.make_parser(command.context_class(command)).parse_args(list(given))
    config = Path(given[given.index("--config") + 1]) if "--config" in given else Path()
    if config.parts[:1] == ("configs",) and (ROOT / config).exists():  # Others are a tutorial's, which is done whole.
        load(ROOT / config, [given[place + 1] for place, word in enumerate(given) if word == "--set"])
