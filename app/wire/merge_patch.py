"""JSON Merge Patch (RFC 7396): applies a difference to a JSON value, and finds the one between two."""

from app.wire.steps import Json


def merge_patch(target: Json, patch: Json) -> Json:
    """Returns a new value: the target after the patch, which removes the members that it gives as null.

    Neither argument is changed; what the patch does not touch is shared with the target. A list is replaced as a
    whole. Nesting is followed without recursion, so that no depth that was parsed can exhaust the stack.
    """
    if not isinstance(patch, dict):
        return patch
    merged: dict[str, Json] = dict(target) if isinstance(target, dict) else {}
    waiting = [(merged, patch)]
    while waiting:
        into, changes = waiting.pop()
        for name, value in changes.items():
            if value is None:
                into.pop(name, None)
            elif isinstance(value, dict):
                old = into.get(name)
                member: dict[str, Json] = dict(old) if isinstance(old, dict) else {}
                into[name] = member
                waiting.append((member, value))
            else:
                into[name] = value
    return merged


def difference(old: Json, new: Json) -> Json:
    """Returns the patch with which ``merge_patch`` makes ``new`` of ``old``.

    Raises:
      ValueError: There is none: a member of ``new`` that differs is null, which in a patch means its removal. Send
        the whole value instead.
    """
    if not isinstance(new, dict):
        return new
    before: dict[str, Json] = old if isinstance(old, dict) else {}
    patch: dict[str, Json] = {name: None for name in before if name not in new}
    for name, value in new.items():
        if name in before and _same(before[name], value):
            continue
        if value is None:
            raise ValueError(f"member {name!r} becomes null, which a merge patch cannot say; send the whole value")
        patch[name] = difference(before.get(name), value)
    return patch


def _same(one: Json, other: Json) -> bool:
    """Returns whether two values are the same JSON; Python alone takes 1, 1.0 and True for equal."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(value, other[name]) for name, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return one == other
