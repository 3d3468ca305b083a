"""The reference of all config keys as a page of Markdown, out of the schema."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from app.config.described import Described
from app.config.reference_cells import allowed_of, default_of, kind_of, members, referred, type_of, unit_of, values_of
from app.config.root import ExperimentConfig

Node: TypeAlias = Mapping[str, Any]

HEAD = """\
# Config reference

Every key of a config file, written from the config classes by `sparring schema --markdown`; a test compares both.
[config.md](config.md) tells how files become one config, and what the parts are for.

A key that is *required* may stand in any of the files that are merged. `null` is a value like others: the meaning says
what it stands for. A count is of what the key's name ends with: `_rows`, `_batches`, `_updates`, `_ticks`. For a number
or a boolean `${vars.name}` will do.

"""
ROOT_PROSE = """\
The keys of a file. Beside them stands `extends`, a list of files, relative to this one, that it is merged over.
"""


@dataclass
class _Section:
    """A class of the config.

    Attributes:
      node: Its schema.
      paths: Where it stands, the first in the order of the config first.
    """

    node: Node
    paths: list[str] = field(default_factory=list)

    @property
    def title(self) -> str:
        """Returns its heading: where it stands first, and its kind where others may stand there."""
        kind = kind_of(self.node)
        return f"`{self.paths[0]}`" + (f", {kind}" if kind else "")


def reference() -> str:
    """Returns the text of ``docs/config-reference.md``."""
    schema = ExperimentConfig.model_json_schema(schema_generator=Described)
    found: dict[str, _Section] = {}
    _walk(schema, schema["$defs"], "", found)
    links = {name: anchor(section.title) for name, section in found.items()}
    parts = [HEAD, "## Sections\n\n", ROOT_PROSE, "\n", _table(schema, schema["$defs"], links)]
    for section in found.values():
        level = "###" if set(section.paths[0].removesuffix(".<name>")) & set(".[") else "##"
        parts.append(
            f"\n{level} {section.title}\n\n{_prose(section)}\n\n{_table(section.node, schema['$defs'], links)}"
        )
    return "".join(parts)


def anchor(title: str) -> str:
    """Returns what a link to a heading ends with."""
    return "".join(letter for letter in title.lower().replace(" ", "-") if letter.isalnum() or letter in "-_")


def _walk(node: Node, classes: Node, path: str, found: dict[str, _Section]) -> None:
    """Adds the classes below a class, each at each place where it stands."""
    for key, value in node["properties"].items():
        for name, below in _named(value, f"{path}.{key}" if path else key):
            if "properties" not in classes[name]:
                continue
            section = found.setdefault(name, _Section(classes[name]))
            if below not in section.paths:
                section.paths.append(below)
                _walk(classes[name], classes, below, found)


def _named(node: Node, path: str) -> Iterator[tuple[str, str]]:
    """Yields the classes that may stand at a place, with the path to each."""
    if "$ref" in node:
        yield referred(node), path
    for member in members(node):
        yield from _named(member, path)
    for step, inner in (("[]", node.get("items")), (".<name>", values_of(node))):
        if inner:
            yield from _named(inner, path + step)


def _prose(section: _Section) -> str:
    text = " ".join(_plain(str(section.node["description"])).split())
    others = ", ".join(f"`{path}`" for path in section.paths[1:])
    return f"{text} Also {others}." if others else text


def _table(node: Node, classes: Node, links: Mapping[str, str]) -> str:
    lines = ["| Key | Type | Default | Allowed | Meaning |", "|---|---|---|---|---|"]
    required = node.get("required", [])
    for key, value in node["properties"].items():
        default = "required" if key in required else default_of(value, classes)
        kind = type_of(value, classes, links) + unit_of(key)
        cells = (f"`{key}`", kind, default, allowed_of(value, classes), _meaning(value, classes))
        lines.append("| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def _meaning(value: Node, classes: Node) -> str:
    if "const" in value:
        return "Chooses this kind."
    own = value.get("description")
    below = classes[referred(value)]["description"] if own is None and "$ref" in value else ""
    return " ".join(_plain(own or below).split())


def _plain(text: str) -> str:
    """Returns a docstring as Markdown."""
    return text.replace("``", "`")
