"""Differences between protobuf messages: a message whose present fields replace those of the one before."""

from typing import TypeVar

from google.protobuf.message import Message

M = TypeVar("M", bound=Message)


def merge_fields(base: M, patch: M) -> M:
    """Returns a new message: the base with the fields that are present in the patch.

    A present scalar replaces, a present message is merged field by field, and a present repeated field or map replaces
    the whole of the old one (protobuf's own MergeFrom would append, and a step that is repeated would append twice).
    A member of a oneof takes the place of the other. Neither argument is changed.

    What a patch cannot say: that a repeated field becomes empty, that a field is cleared, and, for a scalar without
    presence (proto3 without ``optional``), that it becomes 0 or empty. ``field_difference`` refuses in these cases.
    """
    merged = type(base)()
    merged.CopyFrom(base)
    _clear_repeated(merged, patch)
    merged.MergeFrom(patch)
    return merged


def field_difference(old: M, new: M) -> M:
    """Returns the patch with which ``merge_fields`` makes ``new`` of ``old``.

    Raises:
      ValueError: There is none, see ``merge_fields``; send the whole message instead.
    """
    patch = type(new)()
    _fill(patch, old, new)
    if merge_fields(old, patch) != new:
        name = new.DESCRIPTOR.full_name
        raise ValueError(
            f"a field of {name} was cleared or set to its default, which a patch cannot say; send it whole"
        )
    return patch


def _clear_repeated(into: Message, patch: Message) -> None:
    for field, value in patch.ListFields():
        if field.is_extension:
            into.ClearExtension(field)  # type: ignore[arg-type]  # The stubs know extensions by another type.
        elif field.is_repeated:
            into.ClearField(field.name)
        elif isinstance(value, Message) and into.HasField(field.name):
            _clear_repeated(getattr(into, field.name), value)


def _fill(patch: Message, old: Message, new: Message) -> None:
    """Puts into the patch what is present in ``new`` and differs from ``old``; extensions are left to the caller."""
    before = {field.number: value for field, value in old.ListFields()}
    for field, value in new.ListFields():
        known = before.get(field.number)
        if field.is_extension or (known is not None and known == value):
            continue
        if field.is_repeated:
            getattr(patch, field.name).MergeFrom(value)
        elif isinstance(value, Message):
            inner = getattr(patch, field.name)
            inner.SetInParent()
            _fill(inner, type(value)() if known is None else known, value)
        else:
            setattr(patch, field.name, value)
