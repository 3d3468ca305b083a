"""``${...}`` in configs, by OmegaConf."""

from collections.abc import Iterator
from typing import cast

from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from app.config.files import Tree
from app.config.problems import Problems, joined


def resolve(tree: Tree) -> tuple[Tree, Problems]:
    """Returns ``tree`` with each ``${...}`` replaced by its value, and where that failed; there the value is None."""
    problems: Problems = {}
    parsable = _parsable(tree, "", problems)
    root = OmegaConf.create(parsable, flags={"allow_objects": True})  # type: ignore[call-overload]
    return dict(_items(root, "", problems)), problems


def _parsable(node: object, at: str, problems: Problems) -> object:
    if isinstance(node, list):
        return [_parsable(item, joined(at, place), problems) for place, item in enumerate(node)]
    if isinstance(node, dict):
        for key in node:
            if not isinstance(key, str | int | float):
                problems[joined(at, key)] = f"keys must be names, got {key!r}"
        known = {key: value for key, value in node.items() if isinstance(key, str | int | float)}
        return {key: _parsable(value, joined(at, key), problems) for key, value in known.items()}
    if isinstance(node, str) and "${" in node:
        try:
            OmegaConf.create({"value": node})
        except OmegaConfBaseException:
            problems[at] = (
                f"cannot be read, got {node!r}, allowed: ${{key.path}}, or \\${{ for the characters themselves"
            )
            return None
    return node


def _items(
    node: DictConfig | ListConfig, at: str, problems: Problems, inside: tuple[int, ...] = ()
) -> Iterator[tuple[str, object]]:
    """Yields the keys of ``node`` with their values; ``inside`` holds the ids of the nodes around it."""
    keys: list[int | str] = list(range(len(node))) if isinstance(node, ListConfig) else list(node)
    for key in keys:
        path = joined(at, key)
        try:
            value: object = node[key]  # type: ignore[index]  # An int for a list, as above.
        except OmegaConfBaseException as error:
            problems[path] = str(error).partition("\n")[0]
            value = None
        yield cast("str", key), _plain(value, path, problems, (*inside, id(node)))


def _plain(value: object, path: str, problems: Problems, inside: tuple[int, ...]) -> object:
    if id(value) in inside:
        problems[path] = "holds itself through ${...}"
        return None
    if isinstance(value, DictConfig):
        return dict(_items(value, path, problems, inside))
    if isinstance(value, ListConfig):
        return [item for _, item in _items(value, path, problems, inside)]
    return value
