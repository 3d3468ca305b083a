"""What of a game does not reach the disk."""

import hashlib
from collections.abc import Callable, Sequence
from typing import Final, Literal

import orjson

from app.wire.steps import Json

HASH_BYTES: Final = 16
"""Size of a hash: two of the same are the same value, by all that is likely."""
REMOVED: Final = "removed"
"""Stands in place of an id that is left out."""

Path = tuple[str, ...]


class Privacy:
    """Removes fields, or puts keyed hashes in their place; paths are names joined by dots."""

    def __init__(
        self, remove: Sequence[str] = (), hashed: Sequence[str] = (), key: bytes = b"", *, json: bool = True
    ) -> None:
        """Makes a filter.

        Args:
          remove: Paths of fields that are left out.
          hashed: Paths of fields in whose place a hash stands.
          key: Of the hashes; as random as the values are secret.
          json: Whether bodies are JSON; of others no field is known, so that they are left out as a whole.
        """
        self._remove = [tuple(path.split(".")) for path in remove]
        self._hashed = [tuple(path.split(".")) for path in hashed]
        self._key = key[: hashlib.blake2b.MAX_KEY_SIZE]
        self._json = json

    @property
    def is_empty(self) -> bool:
        """Returns whether everything passes."""
        return not (self._remove or self._hashed)

    def lets_pass(self, column: str) -> bool:
        """Returns whether a column of numbers, such as ``observation/units``, is written."""
        path = tuple(column.split("/"))
        return not any(path[: len(private)] == private for private in (*self._remove, *self._hashed))

    def name(self, column: Literal["session", "game"], value: str) -> str:
        """Returns an id as it is written."""
        if (column,) in self._remove:
            return REMOVED
        return self._hash(value) if (column,) in self._hashed else value

    def error(self, text: str | None) -> str | None:
        """Returns of an error its code alone: messages quote what was sent."""
        return text if text is None or self.is_empty else text.partition(":")[0]

    def body(self, body: bytes | None) -> bytes | None:
        """Returns a body without what is private; None where nothing is left of it."""
        if body is None or self.is_empty:
            return body
        if not self._json:
            return None
        try:
            value = orjson.loads(body)
        except orjson.JSONDecodeError:  # What cannot be read cannot be cleaned.
            return None
        for path in self._remove:
            value = _changed(value, path, None)
        for path in self._hashed:
            value = _changed(value, path, self._hash)
        return orjson.dumps(value)

    def _hash(self, value: Json) -> str:
        text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
        return hashlib.blake2b(text, digest_size=HASH_BYTES, key=self._key).hexdigest()


def _changed(value: Json, path: Path, change: Callable[[Json], Json] | None) -> Json:
    """Returns a value whose field at a path is changed, or left out where there is no change."""
    if isinstance(value, list):
        return [_changed(item, path, change) for item in value]
    if not isinstance(value, dict) or path[0] not in value:
        return value
    name, *rest = path
    if rest:
        return value | {name: _changed(value[name], tuple(rest), change)}
    if change is None:
        return {key: item for key, item in value.items() if key != name}
    return value | {name: change(value[name])}
