"""The applications of a Serve config: several trials side by side, and what they must not share."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.config.active import active
from app.config.files import Tree, read
from app.config.load import load
from app.config.problems import Problems, config_error
from app.config.root import ExperimentConfig
from app.errors import ConfigError
from app.origin import ROOT

BUILDER: Final = "deployments.build:build"
"""``import_path`` of our applications; others are looked at for their name and route alone."""
ANYWHERE: Final = ("0.0.0.0", "::")  # noqa: S104  # Compared, not listened on.
"""Addresses that overlap with every other one of the machine."""


@dataclass(frozen=True, slots=True)
class Listed:
    """One application of a Serve config."""

    place: str
    """Where it stands, for messages."""
    name: str
    route: str
    config: ExperimentConfig | None
    """With the components of its mode; None where the application is not ours."""

    @property
    def trial(self) -> str:
        """``project.trial``; empty where the application is not ours."""
        return f"{self.config.run.project}.{self.config.run.trial}" if self.config else ""


def is_serve_config(tree: Mapping[str, object]) -> bool:
    """Returns whether a file's content is a Serve config, and no config of ours."""
    return "applications" in tree and "run" not in tree


def load_applications(path: Path) -> list[Listed]:
    """Returns the applications of a Serve config whose names, routes, trials and ports do not clash.

    Raises:
      ConfigError: The file or one of its configs is wrong, or two applications want the same.
    """
    tree = read(path)
    found = [_listed(place, item) for place, item in _items(tree, path)]
    problems = _clashes(found, _serve_address(tree))
    if problems:
        raise config_error(path, problems)
    return found


def config_of(args: Mapping[str, object]) -> ExperimentConfig:
    """Returns the config that an application's ``args`` name.

    Raises:
      ConfigError: It cannot be read here, or is wrong.
    """
    overrides = args.get("set") or []
    if not isinstance(overrides, list):
        raise ConfigError(f"args.set must be a list of dotted.key=value, got {overrides!r}")
    return load(_found(str(args.get("config"))), [str(one) for one in overrides])


def ports_of(config: ExperimentConfig) -> Iterator[tuple[str, str, int]]:
    """Yields place, address and number of each port that a config's actors listen on; free ones are left out."""
    for name, actor in config.actors.items():
        for field in type(actor).model_fields:
            number = getattr(actor, field)
            if (field == "port" or field.endswith("_port")) and isinstance(number, int) and number:
                yield f"actors.{name}.{field}", actor.host, number


def _items(tree: Tree, path: Path) -> Iterator[tuple[str, Tree]]:
    items = tree["applications"]
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise ConfigError(f"{path}: applications: must be a list of mappings, got {type(items).__name__}")
    yield from ((f"applications.{at}", item) for at, item in enumerate(items))


def _listed(place: str, item: Tree) -> Listed:
    name, route = str(item.get("name", "default")), str(item.get("route_prefix", "/"))
    args = item.get("args")
    if item.get("import_path") != BUILDER or not isinstance(args, dict):
        return Listed(place, name, route, None)
    return Listed(place, name, route, active(config_of(args)))


def _found(path: str) -> Path:
    """Returns where the builder will look: the working directory, then beside the packages."""
    here = Path(path)
    return here if here.is_absolute() or here.exists() else ROOT / path


def _serve_address(tree: Tree) -> tuple[str, int]:
    options = tree.get("http_options")
    given = options if isinstance(options, dict) else {}
    return str(given.get("host", ANYWHERE[0])), int(str(given.get("port", 8000)))


def _clashes(found: list[Listed], serve: tuple[str, int]) -> Problems:
    problems: Problems = {}
    for field in ("name", "route", "trial"):
        taken: dict[str, str] = {}
        for application in found:
            value = getattr(application, field)
            first = taken.setdefault(value, application.place)
            if value and first != application.place:
                key = {"name": "name", "route": "route_prefix", "trial": "args"}[field]
                problems[f"{application.place}.{key}"] = f"{field} {value!r} is that of {first} already"
    return problems | _port_clashes(found, serve)


def _port_clashes(found: list[Listed], serve: tuple[str, int]) -> Problems:
    problems: Problems = {}
    taken = [("http_options.port", *serve)]
    for application in found:
        for key, host, number in () if application.config is None else ports_of(application.config):
            place = f"{application.place}.{key}"
            for other, other_host, other_number in taken:
                if number == other_number and _overlap(host, other_host):
                    problems[place] = f"port {number} on {host} is that of {other} already"
            taken.append((place, host, number))
    return problems


def _overlap(one: str, other: str) -> bool:
    return one == other or one in ANYWHERE or other in ANYWHERE
