"""The token that proves who asks for a session."""

import pytest

from app.wire.token import sign


def test_a_token_is_the_one_that_openssl_computes() -> None:
    # printf 'team\n1700000000\ng-agent-player' | openssl dgst -sha256 -hmac s3cret
    assert (
        sign("s3cret", "team", "1700000000", "g-agent-player")
        == "bb1488d0acd4e75a1dccf631f22645f7854b26a11f77a68088a990f7a156a5d9"
    )


@pytest.mark.parametrize(
    "other", [("x", "k", "1", "s"), ("c", "x", "1", "s"), ("c", "k", "2", "s"), ("c", "k", "1", "x")]
)
def test_a_token_depends_on_each_of_its_parts(other: tuple[str, str, str, str]) -> None:
    assert sign(*other) != sign("c", "k", "1", "s")


def test_text_cannot_move_from_one_part_to_the_next() -> None:
    assert sign("c", "k1", "1", "s") != sign("c", "k", "11", "s")
