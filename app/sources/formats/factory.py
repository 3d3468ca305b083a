"""User code that yields trajectories or steps."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from app.errors import SourceError
from app.plugins import load_plugin
from app.sources.formats.items import from_items
from app.sources.stored import Stored


@dataclass(frozen=True, slots=True)
class IterableShard:
    """One iterable, which is iterated anew for each epoch."""

    number: int
    items: Iterable[Any]
    fields: Mapping[str, str]
    factory: str

    @property
    def name(self) -> str:
        """Its place among the others."""
        return f"{self.number:06d}"

    def __iter__(self) -> Iterator[Stored]:
        """Returns the trajectories of the iterable."""
        where = f"shard {self.number} of {self.factory}"
        numbered = ((f"{where}, item {at}", item) for at, item in enumerate(self.items))
        return from_items(numbered, self.fields, where)


def factory_shards(factory: str, kwargs: Mapping[str, Any], fields: Mapping[str, str]) -> list[IterableShard]:
    """Returns the iterables that user code gives; a list is one shard an item, unless its items are mappings.

    Raises:
      PluginError: The factory cannot be imported.
      SourceError: It gives nothing, or what can be gone through only once.
    """
    made = load_plugin(factory)
    if not callable(made):
        raise SourceError(f"{factory} is a {type(made).__name__}; allowed is a function or a class")
    given = made(**kwargs)
    several = isinstance(given, list | tuple) and not any(isinstance(item, Mapping) for item in given)
    iterables = list(given) if several else [given]
    for number, items in enumerate(iterables):
        if not isinstance(items, Iterable) or isinstance(items, Iterator):
            raise SourceError(
                f"{factory} gives {type(items).__name__} as shard {number}; allowed is what can be iterated more than "
                "once, such as a list or an object with __iter__, since epochs and restarts begin anew"
            )
    if not iterables:
        raise SourceError(f"{factory} gives no shard; allowed is at least one")
    return [IterableShard(number, items, fields, factory) for number, items in enumerate(iterables)]
