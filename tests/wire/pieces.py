"""Streams cut in every way."""

from collections.abc import Iterator

from hypothesis import strategies as st


def one_by_one(data: bytes) -> list[bytes]:
    return [bytes([byte]) for byte in data]


def cut_once(data: bytes) -> Iterator[list[bytes]]:
    """Yields the data in two pieces, cut at each place."""
    for at in range(1, len(data)):
        yield [data[:at], data[at:]]


def cut_anywhere(data: st.DataObject, stream: bytes) -> list[bytes]:
    """Returns the stream in pieces that hypothesis chooses."""
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    return [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
