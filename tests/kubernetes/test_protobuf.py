"""What a newer kubectl sends of a Secret is read as its JSON would be."""

import base64

import pytest

from tests.kubernetes.protobuf import is_protobuf, read


def field(number: int, value: bytes) -> bytes:
    assert len(value) < 128
    return bytes([number << 3 | 2, len(value)]) + value


def message(kind: bytes, *fields: bytes) -> bytes:
    about = field(1, b"v1") + field(2, kind)
    return b"k8s\x00" + field(1, about) + field(2, b"".join(fields))


METADATA = field(1, field(1, b"named") + b"\x38\x00")
ENTRY = field(2, field(1, b"key") + field(2, b"text"))


def test_data_of_a_secret_is_in_base64_and_that_of_a_config_map_is_not() -> None:
    body = message(b"Secret", METADATA, ENTRY, field(3, b"Opaque"))
    assert is_protobuf(body)
    assert read(body) == {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "named"},
        "type": "Opaque",
        "data": {"key": base64.b64encode(b"text").decode()},
    }
    assert read(message(b"ConfigMap", METADATA, ENTRY))["data"] == {"key": "text"}


def test_other_kinds_are_refused() -> None:
    with pytest.raises(ValueError, match="a Pod in protobuf"):
        read(message(b"Pod", METADATA))
