"""What of a game does not reach the disk."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal

import orjson
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError, Message

from app.types import StepKind
from app.wire.payload import BytesCodec, Codec, JsonCodec, ProtoCodec, Side
from app.wire.steps import Json

HASH_BYTES: Final = 16
"""Size of a hash: two of the same are the same value, by all that is likely."""
REMOVED: Final = "removed"
"""Stands in place of an id that is left out."""

_KINDS: Final[Mapping[str, StepKind]] = {"start": StepKind.START, "tick": StepKind.TICK}
"""By event; all others are ends."""

Path = tuple[str, ...]


class Privacy:
    """Removes fields, or puts keyed hashes in their place; paths are names joined by dots."""

    def __init__(
        self, remove: Sequence[str] = (), hashed: Sequence[str] = (), key: bytes = b"", codec: Codec | None = None
    ) -> None:
        """Makes a filter.

        Args:
          remove: Paths of fields that are left out.
          hashed: Paths of fields in whose place a hash stands.
          key: Of the hashes; as random as the values are secret.
          codec: Of the agent, without options; None is JSON. Of bytes no field is known: they are left out as a whole.
        """
        self._remove = [tuple(path.split(".")) for path in remove]
        self._hashed = [tuple(path.split(".")) for path in hashed]
        self._key = key[: hashlib.blake2b.MAX_KEY_SIZE]
        self._codec = codec or JsonCodec()

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

    def body(self, body: bytes | None, event: str = "tick", side: Side = "input") -> bytes | None:
        """Returns a body without what is private; None where nothing is left of it.

        Args:
          body: What came or was answered.
          event: Of the step, as a recording names it.
          side: Which of both it is.
        """
        if body is None or self.is_empty:
            return body
        if isinstance(self._codec, BytesCodec):
            return None
        kind = _KINDS.get(event, StepKind.STOP)
        message = self._codec.message(kind, side) if isinstance(self._codec, ProtoCodec) else None
        return self._json(body) if message is None else self._message(message, body)

    def _json(self, body: bytes) -> bytes | None:
        try:
            value = orjson.loads(body)
        except orjson.JSONDecodeError:  # What cannot be read cannot be cleaned.
            return None
        for path in self._remove:
            value = _changed(value, path, None)
        for path in self._hashed:
            value = _changed(value, path, self._hash)
        return orjson.dumps(value)

    def _message(self, message: type[Message], body: bytes) -> bytes | None:
        try:
            value = message.FromString(body)
        except DecodeError:  # As above.
            return None
        value.DiscardUnknownFields()  # Nobody knows what they hold.
        for path in self._remove:
            _change_field(value, path, None)
        for path in self._hashed:
            _change_field(value, path, self._hash)
        return value.SerializeToString()

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


def _change_field(message: Message, path: Path, change: Callable[[Json], str] | None) -> None:
    """Changes the field at a path of a message, or clears it: where there is no change, and where it holds no text."""
    name, *rest = path
    field = message.DESCRIPTOR.fields_by_name.get(name)
    if field is None:
        return
    if rest and field.type == FieldDescriptor.TYPE_MESSAGE:
        for inner in _messages(message, field):
            _change_field(inner, tuple(rest), change)
    elif change is None or field.type != FieldDescriptor.TYPE_STRING:
        message.ClearField(name)
    elif field.is_repeated:
        values = [change(value) for value in getattr(message, name)]
        message.ClearField(name)
        getattr(message, name).extend(values)
    elif getattr(message, name):
        setattr(message, name, change(getattr(message, name)))


def _messages(message: Message, field: Any) -> list[Any]:
    """Returns the messages in a field (its descriptor): one, several, or the values of a mapping."""
    value = getattr(message, field.name)
    if not field.is_repeated:
        return [value] if message.HasField(field.name) else []
    values = value.values() if isinstance(value, Mapping) or hasattr(value, "values") else value
    return [one for one in values if isinstance(one, Message)]
