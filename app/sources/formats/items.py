"""Trajectories and steps given one by one, as mappings: lines of JSON, and what factories yield."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from app.errors import SourceError
from app.sources.episodes import episodes
from app.sources.stored import Columns, Stored, as_array, flat, renamed

STEPS_AT_ONCE = 1024
"""Steps that are turned into columns together."""


def from_items(items: Iterable[tuple[str, Any]], fields: Mapping[str, str], where: str) -> Iterator[Stored]:
    """Yields the trajectories behind items; those whose reward is one number are steps, all or none of them.

    Args:
      items: Place, for messages, and a mapping such as ``{"observation": […], "action": […], "reward": […]}``.
      fields: Stored name by our name.
      where: What the items are of.

    Raises:
      SourceError: An item is no mapping of numbers.
    """
    iterator = iter(items)
    first = next(iterator, None)
    if first is None:
        return
    place, values = first[0], _values(*first, fields)
    if np.ndim(values.get("reward", ())) == 0 and "reward" in values:
        rows = _chained(values, (_values(*item, fields) for item in iterator))
        yield from episodes(_chunks(rows, where), where)
        return
    yield _episode(place, values)
    for place, item in iterator:
        yield _episode(place, _values(place, item, fields))


def _values(place: str, item: object, fields: Mapping[str, str]) -> dict[str, Any]:
    if not isinstance(item, Mapping):
        raise SourceError(f"{place}: got {type(item).__name__}; allowed is a mapping with observation, action, reward")
    return renamed(flat(item), fields)


def _episode(place: str, values: Mapping[str, Any]) -> Stored:
    columns: Columns = {}
    for name, value in values.items():
        if value is None or isinstance(value, str):
            continue
        array = as_array(value, place, name)
        columns[name] = array if array.ndim else array[None]
    for name in ("episode",):  # One number for all rows.
        if name in columns and len(columns[name]) == 1 and "reward" in columns:
            columns[name] = np.repeat(columns[name], len(columns["reward"]))
    return Stored(columns, place)


def _chained(first: dict[str, Any], rest: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    yield first
    yield from rest


def _chunks(rows: Iterable[dict[str, Any]], where: str) -> Iterator[Columns]:
    held: list[dict[str, Any]] = []
    done = 0
    for row in rows:
        if held and row.keys() != held[0].keys():
            raise SourceError(
                f"{where}, row {done + len(held)}: got {', '.join(sorted(row))}; allowed is what the rows before it "
                f"have, {', '.join(sorted(held[0]))}"
            )
        held.append(row)
        if len(held) == STEPS_AT_ONCE:
            yield _columns(held, f"{where}, from row {done}")
            done, held = done + len(held), held[:0]
    if held:
        yield _columns(held, f"{where}, from row {done}")


def _columns(rows: list[dict[str, Any]], where: str) -> Columns:
    found: Columns = {}
    for name in rows[0]:
        values = [row[name] for row in rows]
        if name == "episode" and isinstance(values[0], str):  # Names tell episodes apart as well as numbers do.
            found[name] = np.array(values)
        elif values[0] is not None and not isinstance(values[0], str):
            found[name] = as_array(values, where, name)
    return found
