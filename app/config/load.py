"""Reads a config: the files that it extends, the file itself, then ``--set`` overrides."""

from collections.abc import Sequence
from pathlib import Path

from pydantic import ValidationError

from app.config.evolving import evolution_problems
from app.config.files import Tree, read
from app.config.interpolate import resolve
from app.config.leagues import league_problems
from app.config.overrides import apply
from app.config.problems import Problems, combined, config_error
from app.config.references import reference_problems
from app.config.rollouts import rollout_problems
from app.config.root import ExperimentConfig
from app.config.sharing import sharing_problems
from app.config.validation import schema_problems


def load(path: Path, overrides: Sequence[str] = ()) -> ExperimentConfig:
    """Returns the checked config of a file, with ``${...}`` resolved; imports no user code.

    Args:
      path: YAML file; its ``extends`` lists files, relative to it, that it is merged over.
      overrides: ``dotted.key=value`` items, applied last.

    Raises:
      ConfigError: A file cannot be read, or keys, values or names are wrong; the message lists all of them.
    """
    return checked(read(path), overrides, path)


def checked(tree: Tree, overrides: Sequence[str], path: Path) -> ExperimentConfig:
    """Returns the checked config of a mapping, with ``${...}`` resolved; imports no user code.

    Args:
      tree: Content of a file, merged over those that it extends.
      overrides: ``dotted.key=value`` items, applied last.
      path: Where it was read, for the message.

    Raises:
      ConfigError: Keys, values or names are wrong; the message lists all of them.
    """
    tree, misplaced = apply(tree, overrides)
    tree, unresolved = resolve(tree)
    config, wrong = _validated(tree)
    problems = combined(misplaced, unresolved, reference_problems(tree), wrong)
    if problems or config is None:
        raise config_error(path, problems)
    return config


def _validated(tree: Tree) -> tuple[ExperimentConfig | None, Problems]:
    try:
        config = ExperimentConfig.model_validate(tree)
        checks = (sharing_problems, rollout_problems, evolution_problems, league_problems)
        return config, combined(*(check(config) for check in checks))
    except ValidationError as error:
        return None, schema_problems(error, ExperimentConfig)
