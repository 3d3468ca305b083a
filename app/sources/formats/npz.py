"""numpy archives: an array a column, a row a step."""

from collections.abc import Iterator
from dataclasses import dataclass
from zipfile import BadZipFile

import numpy as np

from app.errors import SourceError
from app.sources.episodes import episodes
from app.sources.stored import FileShard, Stored, renamed


@dataclass(frozen=True, slots=True)
class NpzShard(FileShard):
    """One file, which is held in memory while it is read."""

    def __iter__(self) -> Iterator[Stored]:
        """Returns the trajectories of the file."""
        try:
            with np.load(self.path, allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in archive.files}
        except (OSError, ValueError, BadZipFile) as error:
            raise SourceError(f"{self.path}: {error}; allowed is a numpy archive of numbers") from error
        columns = {name: array for name, array in arrays.items() if array.ndim and array.dtype.kind in "biuf"}
        return episodes([renamed(columns, self.fields)], str(self.path))
