"""Resolves user code named in a config."""

from importlib import import_module
from importlib.util import find_spec

from app.errors import PluginError


def find_plugin(path: str) -> None:
    """Does nothing where the module of ``package.module:name`` exists; it is not imported.

    Raises:
      PluginError: There is no such module.
    """
    module_name = path.partition(":")[0]
    try:
        found = find_spec(module_name)
    except ImportError as error:
        raise PluginError(f"cannot import {module_name!r} for {path!r}: {error}") from error
    if found is None:
        raise PluginError(f"cannot import {module_name!r} for {path!r}: there is no such module")


def load_plugin(path: str) -> object:
    """Returns the object that ``package.module:name`` names.

    Raises:
      PluginError: The module cannot be imported or has no such name; the message says which.
    """
    module_name, colon, attribute = path.partition(":")
    if not (colon and all(word.isidentifier() for word in (*module_name.split("."), attribute))):
        raise PluginError(f"{path!r} is not an import path; write it as package.module:name")
    try:
        module = import_module(module_name)
    except (ImportError, SyntaxError) as error:
        raise PluginError(f"cannot import {module_name!r} for {path!r}: {error}") from error
    try:
        return getattr(module, attribute)
    except AttributeError as error:
        public = sorted(name for name in vars(module) if not name.startswith("_"))
        raise PluginError(f"{module_name!r} has no {attribute!r}; it has {', '.join(public)}") from error
