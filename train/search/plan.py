"""The configs of a search: that of each trial, and that of the best one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from app.config.files import Tree, read
from app.config.load import checked
from app.config.root import ExperimentConfig
from app.config.search import SearchConfig, Value
from app.errors import ConfigError
from train.search.space import corners, overrides


@dataclass(frozen=True, slots=True)
class SearchPlan:
    """What is searched; goes to the processes of the trials as it is."""

    tree: Tree
    """Content of the config file, merged over those that it extends."""
    settings: tuple[str, ...]
    """Overrides of the command."""
    path: Path
    """Where it was read."""
    config: ExperimentConfig
    """Of the whole search."""
    search: SearchConfig

    def config_of(self, name: str, values: Mapping[str, Value]) -> ExperimentConfig:
        """Returns the config of a trial: a trial of its own, on any free port, without the search.

        Raises:
          ConfigError: The values do not fit together.
        """
        trial = f"{self.config.run.trial}_{name}"
        ports = [f"actors.{actor}.port=0" for actor in self.config.actors]
        settings = [*self.settings, *overrides(values), f"run.trial={trial}", *ports, "search=null"]
        return checked(self.tree, settings, self.path)

    def best_yaml(self, values: Mapping[str, Value]) -> str:
        """Returns the config with the values of the best trial as a file that stands for itself."""
        trial = f"{self.config.run.trial}_best"
        settings = [*self.settings, *overrides(values), f"run.trial={trial}", "search=null"]
        dumped = checked(self.tree, settings, self.path).model_dump(mode="json")
        deploy = (dumped.get("launch") or {}).get("deploy_config")
        if deploy:  # Was relative to the file that was read.
            dumped["launch"]["deploy_config"] = str((self.path.parent / deploy).absolute())
        return yaml.safe_dump(dumped, sort_keys=False)


def plan(path: Path, settings: Sequence[str]) -> SearchPlan:
    """Returns what a config file wants searched.

    Raises:
      ConfigError: The file is wrong, has no search section, or its space names what is not there.
    """
    tree = read(path)
    config = checked(tree, settings, path)
    if config.search is None:
        raise ConfigError(f"{path} has no search section: it needs search.space")
    found = SearchPlan(tree, tuple(settings), path, config, config.search)
    for values in corners(config.search):
        found.config_of("trial_000", values)
    return found
