"""JSON lines: a line a trajectory, or a line a step."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from app.errors import SourceError
from app.sources.formats.items import from_items
from app.sources.stored import FileShard, Stored


@dataclass(frozen=True, slots=True)
class JsonlShard(FileShard):
    """One file."""

    def __iter__(self) -> Iterator[Stored]:
        """Returns the trajectories of the file."""
        return from_items(lines(self.path), self.fields, str(self.path))


def lines(path: Path) -> Iterator[tuple[str, Any]]:
    """Yields place and value of each line that is not empty.

    Raises:
      SourceError: The file cannot be read, or a line is no JSON.
    """
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield f"{path}, line {number}", orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise SourceError(f"{path}, line {number}: {error}; allowed is one JSON value a line") from error
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror}") from error
