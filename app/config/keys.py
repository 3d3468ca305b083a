"""Reads keys from a file or the environment. What is wrong with them is told without telling a secret."""

import os
from pathlib import Path
from typing import Final

import yaml
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from app.config.access import AccessConfig, KeyConfig
from app.config.base import Config
from app.config.files import document
from app.config.problems import Problems, combined, config_error
from app.config.root import ExperimentConfig
from app.config.validation import schema_problems, shown
from app.errors import ConfigError

MAX_FILE_BYTES: Final = 2**20
"""Largest keys file: thousands of keys."""

_SHOWN: Final = {
    "name", "purposes", "require_token", "static_token", "quota", "max_sessions", "steps_per_s", "burst_steps", "admin"
}  # fmt: skip
"""Fields whose wrong value may be told."""


class _Keys(Config):
    """A list of keys as a config."""

    keys: tuple[KeyConfig, ...]


def read_keys(access: AccessConfig) -> tuple[KeyConfig, ...]:
    """Returns the keys that an actor's access names, from file or environment.

    Raises:
      ConfigError: They cannot be read, or entries are wrong; the message lists all of them, and no secret.
    """
    if access.keys_file is not None:
        path = Path(access.keys_file).expanduser()
        return _parsed(_text(path), str(path), access)
    if access.keys_env is not None:
        text = os.environ.get(access.keys_env)
        where = f"environment variable {access.keys_env}"
        if text is None:
            raise ConfigError(f"{where}: is not set in this process; allowed: a JSON list of keys")
        return _parsed(text, where, access)
    return ()


def refuse_bad_keys(config: ExperimentConfig) -> None:
    """Does nothing where the keys of all actors of the config's mode can be read.

    Raises:
      ConfigError: Those of one cannot.
    """
    for actor in config.actors.values():
        if actor.active_in(config.run.mode):
            read_keys(actor.access)


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
        if len(content) > MAX_FILE_BYTES:
            raise ConfigError(f"{path}: is larger than the {MAX_FILE_BYTES} bytes allowed")
        return content.decode()
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: must be UTF-8 text, got another byte at {error.start}") from None


def _parsed(text: str, where: str, access: AccessConfig) -> tuple[KeyConfig, ...]:
    found = _list(text, where)
    try:
        keys = _Keys.model_validate({"keys": found}).keys
    except ValidationError as error:
        problems = schema_problems(error, _Keys, _discreet)
        raise config_error(where, problems) from None  # Pydantic's own text shows values.
    problems = combined(_repeated(keys), _without_token(keys) if access.require_token else {})
    if problems:
        raise config_error(where, problems)
    return keys


def _list(text: str, where: str) -> list[object]:
    """Returns the entries; an error tells the line alone, since YAML's own words show the text."""
    line = ""
    try:
        found = document(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        line = f":{mark.line + 1}" if mark else ""
        found = error
    if isinstance(found, Exception):  # Outside its handler, so that nothing carries the text along.
        raise ConfigError(f"{where}{line}: not valid YAML or JSON; allowed: a list of keys, with secrets in quotes")
    if not isinstance(found, list):
        raise ConfigError(f"{where}: got a {type(found).__name__}, allowed: a list of keys, [] for none")
    return found


def _repeated(keys: tuple[KeyConfig, ...]) -> Problems:
    problems: Problems = {}
    names: dict[str, int] = {}
    values: dict[str, int] = {}
    for at, key in enumerate(keys):
        first = names.setdefault(key.name, at)
        if first != at:
            problems[f"keys.{at}.name"] = f"got {key.name!r} as in keys.{first}, allowed: a name of its own"
        first = values.setdefault(key.key.get_secret_value(), at)
        if first != at:
            problems[f"keys.{at}.key"] = f"is the same as in keys.{first}, allowed: a key of its own"
    return problems


def _without_token(keys: tuple[KeyConfig, ...]) -> Problems:
    message = "needs no token, allowed: keys with a secret that need one, since access.require_token is true"
    return {f"keys.{at}": message for at, key in enumerate(keys) if not key.needs_token}


def _discreet(details: ErrorDetails) -> str:
    value = details["input"]
    if _SHOWN.isdisjoint(details["loc"]) or isinstance(value, dict):
        return f"a {type(value).__name__}"
    return shown(details)
