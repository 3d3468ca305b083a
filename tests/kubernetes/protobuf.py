"""Reads Secrets and ConfigMaps that a newer kubectl creates as protobuf; all else comes as JSON.

Numbers of fields are those of Kubernetes' ``generated.proto`` files.
"""

import base64
from collections.abc import Iterator
from typing import Final

from .manifests import Tree

MAGIC: Final = b"k8s\x00"
VARINT, BYTES = 0, 2


def is_protobuf(body: bytes) -> bool:
    return body.startswith(MAGIC)


def read(body: bytes) -> Tree:
    """Returns an object as its JSON would have it.

    Raises:
      ValueError: It is of another kind, or has fields of other types than these kinds have.
    """
    whole = dict(_fields(body.removeprefix(MAGIC)))
    about, found = dict(_fields(whole[1])), list(_fields(whole[2]))
    api, kind = about[1].decode(), about[2].decode()
    if kind not in {"Secret", "ConfigMap"}:
        raise ValueError(f"a {kind} in protobuf is not read here")
    (metadata,) = (dict(_fields(value)) for number, value in found if number == 1)
    entries = [dict(_fields(value)) for number, value in found if number == 2]
    is_text = kind == "ConfigMap"
    data = {
        entry[1].decode(): value.decode() if is_text else base64.b64encode(value).decode()
        for entry, value in ((entry, entry.get(2, b"")) for entry in entries)
    }
    types = [value.decode() for number, value in found if number == 3 and not is_text]
    own = {"type": types[0]} if types else {}
    return {"apiVersion": api, "kind": kind, "metadata": {"name": metadata[1].decode()}, "data": data, **own}


def _fields(body: bytes) -> Iterator[tuple[int, bytes]]:
    """Yields the number and the bytes of each field of a message; numbers are left out."""
    place = 0
    while place < len(body):
        tag, place = _varint(body, place)
        if tag & 7 not in {VARINT, BYTES}:
            raise ValueError(f"field {tag >> 3} is of type {tag & 7}, which is not read here")
        length, place = _varint(body, place)
        if tag & 7 == BYTES:
            yield tag >> 3, body[place : place + length]
            place += length


def _varint(body: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = body[place]
        value |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if byte < 128:
            return value, place
