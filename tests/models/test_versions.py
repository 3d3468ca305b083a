import pytest

from app.errors import OverloadedError
from app.models.versions import Bound, Versions
from app.types import UNTRAINED, Version

MIB = 2**20


def v(number: int) -> Version:
    return Version(1, number)


def kept(versions: Versions[str]) -> list[int]:
    return [number for number in range(20) if versions.has(v(number))]


def test_the_newest_is_exchanged_as_a_whole_with_its_version() -> None:
    versions = Versions("first", 1)
    assert (versions.newest, versions.version) == ("first", UNTRAINED)
    versions.swap(v(4), "four")
    assert (versions.newest, versions.version) == ("four", v(4))


@pytest.mark.parametrize(
    ("count", "mb", "size_bytes", "most"),
    [(8, 1024, MIB, 8), (8, 3, MIB, 3), (8, 3.5, MIB, 3), (8, 0.5, MIB, 1), (2, 1024, 0, 2), (1, 9, 100 * MIB, 1)],
)
def test_versions_and_mebibytes_bound_what_is_kept(count: int, mb: float, size_bytes: int, most: int) -> None:
    versions = Versions("", size_bytes, Bound(count, mb))
    assert versions.most == most
    for number in range(10):
        versions.keep(v(number), str(number))
    assert kept(versions) == list(range(10 - most, 10))


def test_what_was_used_last_stays() -> None:
    versions = Versions("", 1, Bound(2))
    versions.keep(v(1), "1")
    versions.keep(v(2), "2")
    assert versions.get(v(1)) == "1"
    versions.keep(v(3), "3")
    assert kept(versions) == [1, 3]


def test_a_hold_is_taken_back_as_often_as_it_was_given() -> None:
    versions = Versions("", 1, Bound(1))
    versions.keep(v(1), "1")
    versions.hold(v(1))
    versions.hold(v(1))
    versions.release(v(1))
    with pytest.raises(
        OverloadedError, match=r"weights 1\.2 find no room: 1 other versions are in play, allowed are 1"
    ):
        versions.keep(v(2), "2")
    versions.release(v(1))
    versions.keep(v(2), "2")
    assert kept(versions) == [2]


def test_the_newest_in_play_is_told_only_where_no_other_finds_room() -> None:
    versions = Versions("", 1, Bound(2))
    versions.keep(v(5), "5")
    versions.hold(v(5))
    versions.keep(v(3), "3")
    assert versions.newest_in_play() is None
    versions.hold(v(3))
    assert versions.newest_in_play() == v(5)


def test_what_is_kept_for_good_takes_no_place_and_never_leaves() -> None:
    versions = Versions("first", 1, Bound(1))
    versions.keep_for_good()
    versions.swap(v(1), "1")
    for number in range(5):
        versions.keep(v(number), str(number))
    assert versions.get(UNTRAINED) == "first"
    assert kept(versions) == [4]


def test_who_asks_for_the_newest_is_never_given_a_frozen_version() -> None:
    versions = Versions("first", 1, Bound(versions=2))
    versions.swap(Version(1, 1), "newest")
    for number in (5, 6):
        versions.keep(Version(0, number), "frozen")
        versions.hold(Version(0, number))
    assert versions.newest_in_play() is None
    versions.release(Version(0, 5))
    versions.keep(Version(1, 1), "newest")
    versions.hold(Version(1, 1))
    assert versions.newest_in_play() == Version(1, 1)
