"""``--set`` overrides."""

from collections.abc import Sequence

from app.config.files import Tree, merge, parse
from app.config.problems import Problems
from app.errors import ConfigError


def apply(tree: Tree, overrides: Sequence[str]) -> tuple[Tree, Problems]:
    """Returns ``tree`` with each override laid on top in order, and what is wrong with the others.

    Args:
      tree: Config before it is checked; it is not changed.
      overrides: ``dotted.key=value`` items; the value is YAML, a number in the key is a place in a list.
    """
    problems: Problems = {}
    for override in overrides:
        try:
            tree = _applied(tree, override)
        except ConfigError as error:
            problems[f"--set {override}"] = str(error)
    return tree, problems


def _applied(tree: Tree, override: str) -> Tree:
    key, equals, text = override.partition("=")
    keys = [part.strip() for part in key.split(".")]
    if not (equals and all(keys)):
        raise ConfigError("must be written as dotted.key=value")
    changed = _with(tree, keys, parse(text, "value"))
    return changed if isinstance(changed, dict) else tree


def _with(node: object, keys: Sequence[str], value: object) -> object:
    if not keys:
        return merge(node, value) if isinstance(node, dict) and isinstance(value, dict) else value
    key, *rest = keys
    if isinstance(node, list):
        place = _place(node, key)
        return [*node[:place], _with(node[place], rest, value), *node[place + 1 :]]
    below = node if isinstance(node, dict) else {}
    return {**below, key: _with(below.get(key), rest, value)}


def _place(items: Sequence[object], key: str) -> int:
    if key.isdecimal() and int(key) < len(items):
        return int(key)
    raise ConfigError(f"no such place in a list of {len(items)}, got {key!r}, allowed: 0 to {len(items) - 1}")
