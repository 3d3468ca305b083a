"""What became of each key of a foreign config."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from app.config.files import Tree


@dataclass(frozen=True, slots=True)
class Line:
    """What became of one key."""

    key: str
    """Dotted, as the foreign file has it."""
    value: object
    to: str
    """Our key, dotted; empty where there is no counterpart."""
    note: str = ""
    """What is different, or is to be done by hand; empty where nothing is."""

    @property
    def has_counterpart(self) -> bool:
        """Whether something of ours stands for it."""
        return bool(self.to)

    def __str__(self) -> str:
        became = f"-> {self.to}" if self.to else "has no counterpart"
        return f"{self.key}: {_short(self.value)} {became}{f' ({self.note})' if self.note else ''}"


class Section:
    """One section of a foreign file, of whose keys each is told once."""

    def __init__(self, name: str, values: Mapping[str, object], lines: list[Line]) -> None:
        """Keeps the values.

        Args:
          name: Of the section; empty for the file's own keys.
          values: By key.
          lines: Gets a line for each key.
        """
        self.name = name
        self._values = values
        self._lines = lines
        self._told: set[str] = set()

    def get(self, key: str) -> object:
        """Returns a value; None where it is null or not there."""
        return self._values.get(key)

    def tell(self, key: str, to: str, note: str = "") -> None:
        """Says what became of a key, where the section has it."""
        if key in self._values and key not in self._told:
            self._told.add(key)
            where = f"{self.name}.{key}" if self.name else key
            self._lines.append(Line(where, self._values[key], to, note))

    def rest(self) -> Iterator[tuple[str, object]]:
        """Yields what nothing was said about yet."""
        yield from [(key, value) for key, value in self._values.items() if key not in self._told]


def put(tree: Tree, path: str, value: object) -> None:
    """Puts a value at a dotted path of a tree of mappings."""
    *above, last = path.split(".")
    for key in above:
        below = tree.setdefault(key, {})
        if not isinstance(below, dict):
            raise TypeError(f"{path}: {key} is {below!r}, no mapping")
        tree = below
    tree[last] = value


_SHOWN = 60


def _short(value: object) -> str:
    text = "null" if value is None else str(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
