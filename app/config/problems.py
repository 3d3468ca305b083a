"""What is wrong with a config, as one line for each key."""

from collections.abc import Mapping
from typing import TypeAlias

from app.errors import ConfigError

Problems: TypeAlias = dict[str, str]
"""Message by dotted key path."""


def joined(path: str, key: object) -> str:
    """Returns the dotted path of ``key`` below ``path``, which is empty at the root."""
    return f"{path}.{key}" if path else str(key)


def combined(*found: Mapping[str, str]) -> Problems:
    """Returns all problems; for a key that has several the first is kept, since it mostly causes the others."""
    together: Problems = {}
    for problems in found:
        for path, message in problems.items():
            together.setdefault(path, message)
    return together


def config_error(source: object, problems: Mapping[str, str]) -> ConfigError:
    """Returns the error that names ``source`` in its first line and then one problem a line."""
    count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    return ConfigError("\n".join([f"{source}: {count}", *(f"  {path}: {text}" for path, text in problems.items())]))
