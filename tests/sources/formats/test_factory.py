"""Shards of user code."""

from collections.abc import Iterator
from typing import Any

import pytest

from app.errors import PluginError, SourceError
from app.sources.formats.factory import factory_shards
from tests.sources.made import episode

from .rows import assert_equal, expected, read

HERE = "tests.sources.formats.test_factory"


def one() -> list[Any]:
    return [episode(3, 0), episode(1, 1, terminated=False)]


class Counting:
    """Episodes that are made anew each time."""

    def __init__(self, first: int) -> None:
        self.first = first

    def __iter__(self) -> Iterator[Any]:
        yield episode(2, self.first)


def many(shards: int) -> list[Counting]:
    return [Counting(number) for number in range(shards)]


def once() -> Iterator[Any]:
    yield episode(2)


def none() -> list[Any]:
    return []


def test_a_list_of_episodes_is_one_shard() -> None:
    (shard,) = factory_shards(f"{HERE}:one", {}, {})
    assert_equal(read(shard), expected())


def test_a_list_of_iterables_is_a_shard_each() -> None:
    shards = factory_shards(f"{HERE}:many", {"shards": 3}, {})
    assert [shard.name for shard in shards] == ["000000", "000001", "000002"]
    assert [read(shard)[0]["observation"][0, 0] for shard in shards] == [0, 100, 200]


@pytest.mark.parametrize(
    ("name", "message"),
    [("once", "gives generator as shard 0; allowed is what can be iterated more than once"), ("none", "no shard")],
)
def test_what_cannot_be_read_again_is_refused(name: str, message: str) -> None:
    with pytest.raises(SourceError, match=message):
        factory_shards(f"{HERE}:{name}", {}, {})


def test_a_factory_that_is_not_there_is_named() -> None:
    with pytest.raises(PluginError, match="has no 'absent'"):
        factory_shards(f"{HERE}:absent", {}, {})
