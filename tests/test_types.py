import pytest

from app.types import UNTRAINED, Version


def test_a_version_is_written_and_read_as_generation_and_number() -> None:
    assert str(Version(1, 57)) == "1.57"
    assert Version.parse("1.57") == Version(1, 57)
    assert Version.parse("1.50") != Version.parse("1.5")
    assert str(UNTRAINED) == "0.0"


@pytest.mark.parametrize("text", ["", "1", "1.", ".5", "1.5.2", "-1.5", "1.x", "1,5", "latest", "1. 5", "1²"])
def test_what_is_no_version_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"written as generation\.number, such as 1\.57; got "):
        Version.parse(text)


def test_versions_are_ordered_by_generation_first() -> None:
    assert sorted([Version(2, 0), Version(1, 9), Version(1, 10)]) == [Version(1, 9), Version(1, 10), Version(2, 0)]
