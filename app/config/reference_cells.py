"""What a cell of the config reference says about the schema of one key."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

Node: TypeAlias = Mapping[str, Any]

BOUNDS: Final = {"minimum": "≥ {}", "exclusiveMinimum": "> {}", "maximum": "≤ {}", "exclusiveMaximum": "< {}"}
SIZES: Final = {
    "minItems": "{} or more entries",
    "maxItems": "{} or fewer entries",
    "minProperties": "{} or more entries",
    "minLength": "{} or more characters",
}
PATTERNS: Final = {r"^[a-z][a-z0-9_]*$": "lower snake case", r"^[\w.]+:\w+$": "`package.module:name`"}
UNITS: Final = {"s": "seconds", "ms": "milliseconds", "mb": "MiB"}
LONGEST_DEFAULT: Final = 60
"""Characters of a default that a table shows; the section of a longer one tells it key by key."""


def referred(node: Node) -> str:
    """Returns the name of the class that a reference names."""
    return str(node["$ref"]).rpartition("/")[2]


def members(node: Node) -> Sequence[Node]:
    """Returns what may stand in one place: one of several schemas."""
    return list(node.get("anyOf", node.get("oneOf", ())))


def values_of(node: Node) -> Node:
    """Returns the schema of a mapping's values, whose keys are names; empty where anything may stand."""
    values = next(iter(node.get("patternProperties", {}).values()), node.get("additionalProperties"))
    return values if isinstance(values, Mapping) else {}


def kind_of(node: Node) -> str:
    """Returns what chooses a class where several may stand, ``kind `ppo` ``; empty where nothing does."""
    for key, value in node["properties"].items():
        if "const" in value:
            return f"{key} `{value['const']}`"
    return ""


def type_of(node: Node, classes: Node, links: Mapping[str, str]) -> str:
    """Returns the type of a key, with links to the sections of classes.

    Args:
      node: Schema of the key.
      classes: Schema of each class, by name.
      links: Anchor of each class that has a section.
    """
    if "$ref" in node:
        name = referred(node)
        return f"[{_label(classes[name])}](#{links[name]})" if name in links else "text"
    if several := members(node):
        return " or ".join(dict.fromkeys(type_of(member, classes, links) for member in several))
    if "enum" in node or "const" in node:
        return "text"
    if node.get("type") == "array":
        inner = node.get("items") or node.get("prefixItems", [{}])[0]
        return f"list of {type_of(inner, classes, links)}"
    if node.get("type") == "object":
        return f"mapping of {type_of(values_of(node), classes, links)}"
    return {"string": "text", "null": "null"}.get(str(node.get("type")), str(node.get("type", "anything")))


def unit_of(key: str) -> str:
    """Returns a key's unit behind a comma; empty where its name tells none."""
    unit = UNITS.get(key.rpartition("_")[2]) if "_" in key else None
    return f", {unit}" if unit else ""


def allowed_of(node: Node, classes: Node) -> str:
    """Returns the bounds, choices and forms of a key's values; empty where the type says all."""
    return ", ".join(dict.fromkeys(_allowed(node, classes)))


def default_of(node: Node, classes: Node) -> str:
    """Returns a key's default as YAML would take it."""
    default = node.get("default")
    if isinstance(default, Mapping) and default:
        return _default_class(default, node, classes)
    text = json.dumps(default, ensure_ascii=False)
    return f"`{text}`" if len(text) <= LONGEST_DEFAULT else "see its section"


def _default_class(default: Node, node: Node, classes: Node) -> str:
    """Returns the keys in which a default differs from what its class has anyway."""
    for one in [node, *members(node)]:
        fields = classes[referred(one)]["properties"] if "$ref" in one else {}
        if fields.keys() >= default.keys() and _kind_fits(default, fields):
            other = {
                key: value for key, value in default.items() if key == "kind" or value != fields[key].get("default")
            }
            return f"`{_flow(other)}`"
    return f"`{_flow(default)}`"


def _kind_fits(default: Node, fields: Node) -> bool:
    return all(fields[key].get("const", value) == value for key, value in default.items())


def _flow(value: Node) -> str:
    inside = ", ".join(f"{key}: {one if isinstance(one, str) else json.dumps(one)}" for key, one in value.items())
    return f"{{{inside}}}"


def _allowed(node: Node, classes: Node) -> Iterator[str]:
    if "$ref" in node and "enum" in classes[referred(node)]:
        yield from _allowed(classes[referred(node)], classes)
    for member in members(node):
        yield from _allowed(member, classes)
    for inner in (node.get("items"), values_of(node)):
        if inner:
            yield from _allowed(inner, classes)
    yield from (f"`{choice}`" for choice in node.get("enum", ()))
    if "const" in node:
        yield f"`{node['const']}`"
    yield from (text.format(f"{node[key]:,}") for key, text in {**BOUNDS, **SIZES}.items() if key in node)
    if "pattern" in node:
        yield PATTERNS.get(node["pattern"], f"`{node['pattern']}`")


def _label(node: Node) -> str:
    kind = kind_of(node)
    return kind.rpartition(" ")[2] if kind else "section"
