"""Minari's HDF5 files: a group an episode, with one observation more than there are actions."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import h5py

from app.errors import SourceError
from app.sources.stored import FileShard, Stored, as_array, renamed

GROUP: Final = "episode_"
"""How the names of episodes begin; their number follows."""
TUPLE: Final = "_index_"
"""How Minari names the parts of a tuple."""
FIELDS: Final = {
    "observation": "observations",
    "action": "actions",
    "reward": "rewards",
    "terminated": "terminations",
    "truncated": "truncations",
}


@dataclass(frozen=True, slots=True)
class MinariShard(FileShard):
    """One file."""

    def __iter__(self) -> Iterator[Stored]:
        """Yields the episodes of the file, by their numbers."""
        names = {**FIELDS, **self.fields}
        try:
            with h5py.File(self.path, "r") as file:
                groups = [name for name in file if name.startswith(GROUP) and name.removeprefix(GROUP).isdecimal()]
                if not groups:
                    raise SourceError(f"{self.path}: got {', '.join(file) or 'nothing'}; allowed are {GROUP}0, …")
                for name in sorted(groups, key=lambda name: int(name.removeprefix(GROUP))):
                    where = f"{self.path}, {name}"
                    yield Stored(renamed(_arrays(file[name], "", where, names.values()), names), where)
        except OSError as error:
            raise SourceError(f"{self.path}: {error}; allowed is an HDF5 file of Minari") from error


def _arrays(group: Any, below: str, where: str, wanted: Any) -> dict[str, Any]:
    """Returns the data sets of a group by path; of its top, those alone that are wanted."""
    found: dict[str, Any] = {}
    for key, value in group.items():
        if not below and key not in wanted:
            continue
        name = f"{below}/{key.removeprefix(TUPLE)}" if below else key
        if isinstance(value, h5py.Group):
            found |= _arrays(value, name, where, wanted)
        else:
            found[name] = as_array(value[()], where, name)
    return found
