"""A template of Bray: sections by kind, and who refers to whom."""

import re
from collections.abc import Mapping
from typing import Final

from app.errors import ConfigError
from app.porting.lines import Line, Section

KINDS: Final = ("model", "source", "buffer", "agent", "actor", "render", "trainer", "config")
OLD_KINDS: Final = {"agent_actor": "actor"}
"""What an early version called them."""


class BrayFile:
    """The sections of a file."""

    def __init__(self, values: Mapping[str, object], where: str) -> None:
        """Sorts the sections.

        Args:
          values: Of the file.
          where: The file, for messages.

        Raises:
          ConfigError: It is no template of Bray: no section has a kind, or project or trial are missing.
        """
        self.where = where
        self.lines: list[Line] = []
        sections = {str(name): value for name, value in values.items() if isinstance(value, dict)}
        self.top = Section("", {name: value for name, value in values.items() if name not in sections}, self.lines)
        kinds = {
            name: OLD_KINDS.get(str(value.get("kind")), str(value.get("kind"))) for name, value in sections.items()
        }
        if not ({"project", "trial"} <= values.keys() and set(kinds.values()) & set(KINDS)):
            needed = f"project, trial and sections with a kind of {', '.join(KINDS)}"
            raise ConfigError(f"{where}: is no template of Bray: needed are {needed}")
        self._kinds = {name: kind if kind in KINDS else "config" for name, kind in kinds.items()}
        self.sections = {name: Section(name, value, self.lines) for name, value in sections.items()}
        self.names = {name: snake(name) for name in sections}
        """Ours by Bray's."""

    def of_kind(self, kind: str) -> list[Section]:
        """Returns the sections of a kind."""
        return [section for name, section in self.sections.items() if self._kinds[name] == kind]

    def pushed_buffers(self) -> list[Section]:
        """Returns the buffers that agents push into: those without sources."""
        return [section for section in self.of_kind("buffer") if not section.get("sources")]

    def is_first(self, agent: str) -> bool:
        """Returns whether an agent answers some actor; with Bray all do, one after another."""
        listed = [as_list(actor, "agents") for actor in self.of_kind("actor")]
        return any(agents[:1] == [agent] for agents in listed) or not any(agent in agents for agents in listed)

    def players(self) -> list[str]:
        """Returns our names of the agents that answer."""
        return [self.names[agent.name] for agent in self.of_kind("agent") if self.is_first(agent.name)]

    def trainers_of(self, model: str) -> list[str]:
        """Returns our names of the trainers of a model."""
        return [self.names[one.name] for one in self.of_kind("trainer") if one.get("model") == model]

    def concatenated(self, buffer: str) -> int:
        """Returns how many batches of a buffer its trainer joins to one."""
        users = [one for one in self.of_kind("trainer") if buffer in as_list(one, "buffers")]
        return max([as_int(one, "batch_size") or 1 for one in users], default=1)


def snake(name: str) -> str:
    """Returns a name as ours are: lower snake case."""
    plain = re.sub(r"[^a-z0-9_]+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()).strip("_")
    return plain if plain[:1].isalpha() else f"n{plain}"


def as_list(section: Section, key: str) -> list[object]:
    """Returns a list; an empty one where it is null.

    Raises:
      ConfigError: It is none.
    """
    value = section.get(key)
    if value is not None and not isinstance(value, list):
        raise ConfigError(f"{section.name}.{key}: must be a list, got {value!r}")
    return value or []


def as_number(section: Section, key: str) -> float | None:
    """Returns a number; None where it is null.

    Raises:
      ConfigError: It is none.
    """
    value = section.get(key)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise ConfigError(f"{section.name}.{key}: must be a number or null, got {value!r}")
    return value


def as_int(section: Section, key: str) -> int | None:
    """Returns a whole number; None where it is null.

    Raises:
      ConfigError: It is none.
    """
    value = as_number(section, key)
    if value is not None and value != int(value):
        raise ConfigError(f"{section.name}.{key}: must be a whole number or null, got {value!r}")
    return None if value is None else int(value)


def as_path(section: Section, module: str, attribute: str | None, default: str) -> str:
    """Returns ``package.module:name`` of a module and the name of something in it.

    Raises:
      ConfigError: There is no module.
    """
    value = section.get(module)
    if not isinstance(value, str):
        raise ConfigError(f"{section.name}.{module}: must be the name of a module, got {value!r}")
    named = section.get(attribute) if attribute else None
    return f"{value}:{named or default}"
