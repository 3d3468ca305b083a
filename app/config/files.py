"""Config files as plain mappings: YAML, merged over the files that they extend."""

import re
from pathlib import Path
from typing import Any, TypeAlias

import yaml

from app.errors import ConfigError

Tree: TypeAlias = dict[str, object]
"""A config before it is checked."""


def read(path: Path) -> Tree:
    """Returns the content of a YAML file, merged over the files that its ``extends`` names, later ones winning.

    Raises:
      ConfigError: A file is missing, is no YAML, is no mapping or extends itself.
    """
    return _read(path, ())


def merge(base: Tree, over: Tree) -> Tree:
    """Returns ``base`` with ``over`` laid on top: mappings key by key, anything else as a whole."""
    merged = dict(base)
    for key, value in over.items():
        below = merged.get(key)
        merged[key] = merge(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return merged


def parse(text: str, where: str) -> object:
    """Returns the value that one YAML document holds; empty text is None.

    Raises:
      ConfigError: The text is no YAML; the message starts with ``where`` and the line.
    """
    try:
        return document(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f":{mark.line + 1}" if mark else ""
        raise ConfigError(f"{where}{line}: not valid YAML: {error.problem or error.context}") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"{where}: not valid YAML: {' '.join(str(error).split())}") from error


def document(text: str) -> object:
    """Returns the value that one YAML document holds; empty text is None.

    Raises:
      YAMLError: The text is no YAML; its own message shows some of it.
    """
    return _Loader(text).get_single_data()


def _read(path: Path, chain: tuple[Path, ...]) -> Tree:
    file = path.resolve()
    if file in chain:
        names = " -> ".join(link.name for link in (*chain[chain.index(file) :], file))
        raise ConfigError(f"{chain[0]}: extends itself: {names}")
    own = parse(_text(path, chain), str(path))
    if not isinstance(own, dict):
        raise ConfigError(f"{path}: must hold a mapping of config keys, got {type(own).__name__}")
    merged: Tree = {}
    for name in _bases(own.pop("extends", []), path):
        merged = merge(merged, _read(path.parent / name, (*chain, file)))
    return merge(merged, own)


def _text(path: Path, chain: tuple[Path, ...]) -> str:
    by = f", which {chain[-1]} extends" if chain else ""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{path}{by}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{path}{by}: must be UTF-8 text, got byte {error.start} = {error.object[error.start]:#x}"
        ) from error


def _bases(names: object, path: Path) -> list[str]:
    if isinstance(names, list) and all(isinstance(name, str) for name in names):
        return names
    raise ConfigError(f"{path}: extends: must be a list of files relative to this one, got {names!r}")


class _Loader(yaml.SafeLoader):
    """YAML 1.1 as PyYAML reads it, but ``1e-3`` is a number, a date is text, and a key counts once."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.deep_construct = True  # Finds a node that contains itself, which would recurse for ever later.

    def compose_mapping_node(self, anchor: dict[Any, yaml.Node]) -> yaml.MappingNode:
        node = super().compose_mapping_node(anchor)
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.value == "<<":
                continue
            if key.value in seen:
                raise yaml.MarkedYAMLError(problem=f"key {key.value!r} appears twice", problem_mark=key.start_mark)
            seen.add(key.value)
        return node


_FLOAT, _TIMESTAMP = "tag:yaml.org,2002:float", "tag:yaml.org,2002:timestamp"
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in {_FLOAT, _TIMESTAMP}]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(
    _FLOAT,
    re.compile(
        r"^[-+]?(?:[0-9][0-9_]*\.[0-9_]*(?:[eE][-+]?[0-9]+)?|[0-9][0-9_]*[eE][-+]?[0-9]+"
        r"|\.[0-9][0-9_]*(?:[eE][-+]?[0-9]+)?|\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$"
    ),
    list("-+0123456789."),
)
